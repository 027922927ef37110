// From predictions to g and s: evaluation and pull-backs. Micro-batches are in optimizer_accumulate.cpp, what happens
// to g and s in optimizer_apply.cpp.
#include "lehi/optimizer.h"

#include <cmath>
#include <limits>
#include <set>

#include "curvature/pull_back.h"
#include "lehi/error.h"
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

// What the network's own pull_back makes of the cotangents, checked.
std::vector<std::vector<Tensor>> pull_through(const Differentiable& network, const std::vector<Tensor>& cotangents,
                                              const std::vector<Tensor>& parameters) {
  if (!network.pull_back) refuse("the network has no pull_back: without one nothing can be differentiated");
  const torch::NoGradGuard no_grad;
  auto results = network.pull_back(cotangents, parameters);
  if (results.size() != cotangents.size()) {
    refuse("the network's pull_back returned {} lists for {} cotangents", results.size(), cotangents.size());
  }
  bool any = false;
  for (const auto& list : results) {
    if (list.size() != parameters.size()) {
      refuse("the network's pull_back returned {} tensors for {} parameters", list.size(), parameters.size());
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].defined() != results.front()[i].defined()) {
        refuse("the network's pull_back returned parameter {} for one cotangent and left it undefined for another", i);
      }
      if (!list[i].defined()) continue;
      any = true;
      if (list[i].sizes() != parameters[i].sizes()) {
        refuse("the network's pull_back returned shape [{}] for a parameter of shape [{}]",
               fmt::join(list[i].sizes(), ", "), fmt::join(parameters[i].sizes(), ", "));
      }
    }
  }
  if (!any) refuse("none of the optimizer's parameters takes part in the network: there is nothing to train");
  return results;
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
      refuse("{} is a {} tensor of layout {}; expected a dense floating-point one", parameter_name(group, i),
             c10::toString(parameters[i].scalar_type()),
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
      if (!parameters[i].defined()) refuse("parameter {} of group {} is an undefined tensor", i, group);
      if (!seen.insert(parameters[i].unsafeGetTensorImpl()).second) {
        refuse("{} is listed twice: it would take two steps at once", parameter_name(group, i));
      }
      members.parameters.push_back(parameters[i]);
      members.keys.push_back(compat::state_key(parameters[i]));
    }
  }
  members_ = std::move(members);
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
    refuse("parameter group {} has another optimizer's options: give it lehi::GroupOptions, or none", group);
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

// False when predictions were not finite and the policy is to go on.
bool Optimizer::evaluate_terms(const std::vector<Term>& terms, const Refresh& refresh) {
  evaluations_.resize(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (!(terms[t].weight >= 0.0) || std::isinf(terms[t].weight)) {
      refuse("term {} has weight {}, but a weight must be finite and >= 0", t, terms[t].weight);
    }
    ProbeRequest request;
    if (needs_second_pull_back(refresh)) request.probe = options_.recipe.probe;
    request.scale = options_.recipe.scale;
    request.key = {options_.seed, static_cast<std::uint64_t>(step_ + 1),
                   micro_batches_ > 0 ? static_cast<std::uint64_t>(sums_[t].rows) : 0, static_cast<std::uint32_t>(t)};
    try {
      terms[t].loss.evaluate(terms[t].predictions, terms[t].targets, request, evaluations_[t]);
    } catch (const NonFiniteError& error) {
      if (options_.non_finite == NonFinite::raise) {
        discard_accumulated();
        throw NonFiniteError(fmt::format("step {}: {}", step_ + 1, error.what()));
      }
      return false;
    }
  }
  return true;
}

// Each list of cotangents, one a term, pulled back to all parameters: through the terms' graphs, or by the network.
std::vector<std::vector<Tensor>> Optimizer::pull(std::span<const Term> terms, const std::vector<Tensors>& cotangents,
                                                 bool keep_graph, const Differentiable* network) {
  if (network != nullptr) {
    Tensors of_the_term;
    for (const Tensors& list : cotangents) of_the_term.push_back(list.front());
    return pull_through(*network, of_the_term, all_parameters());
  }
  Tensors predictions;
  for (const Term& term : terms) predictions.push_back(term.predictions);
  std::vector<Tensors> results;
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const bool again = i + 1 < cotangents.size();
    results.push_back(pull_back(predictions, cotangents[i], all_parameters(), keep_graph || again));
  }
  return results;
}

Optimizer::Pulled Optimizer::pull_terms(const std::vector<Term>& terms, const Refresh& refresh, bool keep_graph,
                                        const Differentiable* network) {
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  std::vector<Tensors> cotangents(second ? 2 : 1);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    Evaluation& evaluation = evaluations_[t];
    if (evaluation.count <= 0.0)
      refuse("term {}: every target is ignored or has weight 0, so its mean does not exist", t);
    const double g_factor = terms[t].weight / evaluation.count;
    const double s_factor = probe_factor(options_.recipe.scale, terms[t].weight, evaluation.count);
    if (terms.size() == 1) {
      // One factor for everything: the update multiplies it in, at no cost.
      pulled.g_factor = g_factor;
      pulled.s_factor = s_factor;
    } else {
      evaluation.gradient.mul_(g_factor);
      if (second) evaluation.probe.mul_(s_factor);
    }
    pulled.value += terms[t].weight * evaluation.mean();
    cotangents[0].push_back(evaluation.gradient);
    if (second) cotangents[1].push_back(evaluation.probe);
  }
  pulled.count = evaluations_.front().count;
  auto results = pull(terms, cotangents, keep_graph, network);
  pulled.g = std::move(results[0]);
  if (second) pulled.s = std::move(results[1]);
  return pulled;
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
  if (terms.empty() && micro_batches_ == 0) refuse("step() was given no loss term and nothing was accumulated");
  if (!terms.empty() && micro_batches_ > 0) {
    refuse("{} accumulated micro-batches wait for step(): call it without terms, or discard_accumulated() first",
           micro_batches_);
  }
  const Refresh refresh = next_refresh();
  Pulled pulled;
  if (terms.empty()) {
    if (poisoned_) return skip_step(std::numeric_limits<double>::quiet_NaN());
    pulled = gather_accumulated(refresh);
  } else {
    if (!evaluate_terms(terms, refresh)) return skip_step(std::numeric_limits<double>::quiet_NaN());
    pulled = pull_terms(terms, refresh, keep_graph || regulariser.defined(), network);
  }
  if (regulariser.defined()) add_regulariser(regulariser, keep_graph, pulled);
  return apply(pulled, refresh);
}

void Optimizer::add_regulariser(const Tensor& regulariser, bool keep_graph, Pulled& pulled) {
  if (regulariser.numel() != 1) {
    refuse("the regulariser has {} elements, but must be a scalar tensor", regulariser.numel());
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

Optimizer::Pulled Optimizer::gather_gradients(double value) {
  Pulled pulled;
  pulled.value = value;
  pulled.count = 1.0;
  for (const Tensor& parameter : all_parameters()) {
    const Tensor& gradient = parameter.grad();
    if (gradient.defined() && gradient.layout() != torch::kStrided) {
      refuse("a parameter has a sparse .grad(): use dense embeddings (sparse = false)");
    }
    pulled.g.push_back(gradient.defined() ? gradient.detach() : gradient);
  }
  return pulled;
}

Tensor Optimizer::step(LossClosure closure) {
  if (micro_batches_ > 0) {
    if (closure) refuse("step() after accumulate() takes no closure: the gradients are already there");
    return torch::tensor(step(std::vector<Term>{}), torch::kFloat64);
  }
  if (options_.recipe.probe != Probe::gradient) {
    refuse(
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
  apply(gather_gradients(value.defined() ? value.detach().item<double>() : std::numeric_limits<double>::quiet_NaN()),
        next_refresh());
  return value;
}

}  // namespace lehi
