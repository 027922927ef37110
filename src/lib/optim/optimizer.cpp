// Parameters, the schedule, and the ways to take a step. From predictions to g and s is in optimizer_pull.cpp,
// micro-batches in optimizer_accumulate.cpp, several ranks in optimizer_ranks.cpp, what happens to g and s in
// optimizer_apply.cpp.
#include "lehi/optimizer.h"

#include <limits>
#include <set>

#include "curvature/pull_back.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

std::vector<Tensor> values_of(const torch::OrderedDict<std::string, Tensor>& parameters) {
  std::vector<Tensor> values;
  for (const auto& item : parameters) values.push_back(item.value());
  return values;
}

// Checked before the base class copies them.
Options checked(Options options) {
  check(options);
  return options;
}

}  // namespace

Optimizer::Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups, Options options)
    : torch::optim::Optimizer(std::move(groups), std::make_unique<GroupOptions>(checked(options).group)),
      options_(std::move(options)) {
  check_parameters();
}

Optimizer::Optimizer(std::vector<Tensor> parameters, Options options)
    : Optimizer(
          std::vector<torch::optim::OptimizerParamGroup>{torch::optim::OptimizerParamGroup(std::move(parameters))},
          std::move(options)) {}

Optimizer::Optimizer(const torch::OrderedDict<std::string, Tensor>& parameters, Options options)
    : Optimizer(values_of(parameters), std::move(options)) {
  name_parameters(parameters);
}

void Optimizer::check_parameters() {
  all_parameters();
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    check(group_options(group), options_.recipe.rule);
    const auto& parameters = param_groups_[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_floating_point() && parameters[i].layout() == torch::kStrided) continue;
      throw_invalid_argument("{} is a {} tensor of layout {}; expected a dense floating-point one",
                             parameter_name(group, i), c10::toString(parameters[i].scalar_type()),
                             parameters[i].layout() == torch::kStrided ? "strided" : "sparse");
    }
  }
}

const std::vector<Tensor>& Optimizer::all_parameters() {
  // A user may have added parameters since the last step, to a group or as one.
  std::size_t known = 0;
  bool same = true;
  for (const auto& group : param_groups_) {
    for (const Tensor& parameter : group.params()) {
      same = same && known < members_.parameters.size() && members_.parameters[known].is_same(parameter);
      ++known;
    }
  }
  if (same && known == members_.parameters.size()) return members_.parameters;

  Members members;
  std::set<const void*> seen;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const auto& parameters = param_groups_[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].defined()) throw_invalid_argument("parameter {} of group {} is an undefined tensor", i, group);
      if (!seen.insert(parameters[i].unsafeGetTensorImpl()).second) {
        throw_invalid_argument("{} is listed twice: it would take two steps at once", parameter_name(group, i));
      }
      members.parameters.push_back(parameters[i]);
      members.keys.push_back(compat::state_key(parameters[i]));
      members.groups.push_back(group);
      members.places.push_back(i);
    }
  }
  members_ = std::move(members);
  if (ranks_ != nullptr) make_rank_sums();
  return members_.parameters;
}

std::size_t Optimizer::parameter_total() const {
  std::size_t total = 0;
  for (const auto& group : param_groups_) total += group.params().size();
  return total;
}

const GroupOptions& Optimizer::group_options(std::size_t group) const {
  const auto* options = dynamic_cast<const GroupOptions*>(&param_groups_[group].options());
  if (options == nullptr) {
    throw_invalid_argument("parameter group {} has another optimizer's options: give it lehi::GroupOptions, or none",
                           group);
  }
  return *options;
}

// The schedule's answer for the coming step. It starts anew when parameters were added: they need a scale of their own,
// and a noisy probe its dense start.
Refresh Optimizer::next_refresh() const {
  const bool newcomers = known_parameters_ != parameter_total();
  Refresh refresh = refresh_at(options_.recipe.schedule, newcomers ? 1 : step_ + 1 - schedule_start_);
  if (options_.recipe.probe == Probe::gradient) refresh.use_gradient = true;
  // With a mix, g^2 enters at every step: a v that hears of curvature only now and then has no brake when gradients
  // grow.
  if (options_.recipe.mix != Mix::none && !refresh.due) refresh = {.due = true, .use_gradient = true, .covers = 1};
  return refresh;
}

bool Optimizer::needs_second_pull_back(const Refresh& refresh) const {
  return refresh.due && !refresh.use_gradient && options_.recipe.rule != Rule::sgd;
}

double Optimizer::step(const Tensor& predictions, const Loss& loss, const Tensor& targets, bool keep_graph) {
  return run_step({Term{predictions, loss, targets}}, {}, keep_graph, nullptr);
}

double Optimizer::step(const Differentiable& network, const Loss& loss, const Tensor& targets) {
  return run_step({Term{network.predictions, loss, targets}}, {}, /*keep_graph=*/false, &network);
}

double Optimizer::step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph) {
  return run_step(terms, regulariser, keep_graph, nullptr);
}

// network: what differentiates the one term; nullptr: the terms' graphs.
double Optimizer::run_step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph,
                           const Differentiable* network) {
  if (terms.empty() && micro_batches_ == 0)
    throw_invalid_argument("step() was given no loss term and nothing was accumulated");
  if (!terms.empty() && micro_batches_ > 0) {
    throw_invalid_argument(
        "{} accumulated micro-batches wait for step(): call it without terms, or discard_accumulated() first",
        micro_batches_);
  }
  const bool at_once = options_.update_during_pull_back;
  if (at_once && (network == nullptr || regulariser.defined())) {
    throw_invalid_argument(
        "update_during_pull_back is for networks that differentiate themselves (lehi::Differentiable), without a "
        "regulariser: nothing else tells when a weight's gradient is complete");
  }
  const Refresh refresh = next_refresh();
  Pulled pulled;
  std::vector<double*> totals;
  if (terms.empty()) {
    for (TermSums& sums : sums_) totals.insert(totals.end(), {&sums.value, &sums.count});
    const std::string trouble = poisoned_ ? "the predictions of a micro-batch are not finite" : "";
    if (!all_go_on(trouble, totals)) return skip_step(std::numeric_limits<double>::quiet_NaN());
    pulled = gather_accumulated(refresh);
  } else {
    const std::string trouble = evaluate_terms(terms, refresh);
    for (Evaluation& evaluation : evaluations_) totals.insert(totals.end(), {&evaluation.sum, &evaluation.count});
    if (!all_go_on(trouble, totals)) return skip_step(std::numeric_limits<double>::quiet_NaN());
    if (at_once) return step_during_pull_back(terms.front(), refresh, *network);
    pulled = pull_terms(terms, refresh, keep_graph || regulariser.defined(), network);
  }
  if (regulariser.defined()) add_regulariser(regulariser, keep_graph, pulled);
  return apply(pulled, refresh);
}

void Optimizer::add_regulariser(const Tensor& regulariser, bool keep_graph, Pulled& pulled) {
  if (regulariser.numel() != 1) {
    throw_invalid_argument("the regulariser has {} elements, but must be a scalar tensor", regulariser.numel());
  }
  const auto parts = pull_back({regulariser}, {torch::ones_like(regulariser)}, all_parameters(), keep_graph);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (pulled.g[i].defined()) pulled.g[i] = pulled.g[i] * pulled.g_factor;
    if (!parts[i].defined()) continue;
    pulled.g[i] = pulled.g[i].defined() ? pulled.g[i] + parts[i] : parts[i];
  }
  pulled.g_factor = 1.0;
  pulled.value += regulariser.detach().item<double>();
}

// value: what the closure returned; undefined without one.
Optimizer::Pulled Optimizer::gather_gradients(const Tensor& value) {
  Pulled pulled;
  pulled.value_known = value.defined();
  pulled.value = value.defined() ? value.detach().item<double>() : std::numeric_limits<double>::quiet_NaN();
  pulled.count = 1.0;
  for (const Tensor& parameter : all_parameters()) {
    const Tensor& gradient = parameter.grad();
    if (gradient.defined() && gradient.layout() != torch::kStrided) {
      throw_invalid_argument("a parameter has a sparse .grad(): use dense embeddings (sparse = false)");
    }
    pulled.g.push_back(gradient.defined() ? gradient.detach() : gradient);
  }
  if (ranks_ != nullptr) {
    const double ranks = ranks_->size();
    if (pulled.value_known) {
      sum_over_ranks({&pulled.value});
      pulled.value /= ranks;
    }
    sum_over_ranks(pulled);
    pulled.g_factor = 1.0 / ranks;
  }
  return pulled;
}

Tensor Optimizer::step(LossClosure closure) {
  if (micro_batches_ > 0) {
    if (closure) throw_invalid_argument("step() after accumulate() takes no closure: the gradients are already there");
    return torch::tensor(step(std::vector<Term>{}), torch::kFloat64);
  }
  if (options_.recipe.probe != Probe::gradient) {
    throw_invalid_argument(
        "{} pulls back a {} probe, for which it must see the predictions: call step(predictions, loss, targets) "
        "instead "
        "of step(closure)",
        options_.name, name(options_.recipe.probe));
  }
  Tensor value;
  if (closure) {
    const torch::AutoGradMode with_grad(true);
    value = closure();
  }
  apply(gather_gradients(value), next_refresh());
  return value;
}

}  // namespace lehi
