// From predictions to g and s: evaluation, pull-backs, micro-batches. What happens to them is in optimizer_apply.cpp.
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

void Optimizer::check_parameters() const {
  std::set<const void*> seen;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    check(group_options(group), options_.recipe.rule);
    const auto& parameters = param_groups_[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].defined()) refuse("parameter {} of group {} is an undefined tensor", i, group);
      if (!seen.insert(parameters[i].unsafeGetTensorImpl()).second) {
        refuse("{} is listed twice: it would take two steps at once", parameter_name(group, i));
      }
      if (!parameters[i].is_floating_point() || parameters[i].layout() != torch::kStrided) {
        refuse("{} is a {} tensor of layout {}; expected a dense floating-point one", parameter_name(group, i),
               c10::toString(parameters[i].scalar_type()),
               parameters[i].layout() == torch::kStrided ? "strided" : "sparse");
      }
    }
  }
}

std::vector<Tensor> Optimizer::all_parameters() const {
  std::vector<Tensor> all;
  for (const auto& group : param_groups_) all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
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
  const bool newcomers = known_parameters_ != all_parameters().size();
  Refresh refresh = refresh_at(options_.recipe.schedule, newcomers ? 1 : step_ + 1 - schedule_start_);
  if (options_.recipe.probe == Probe::gradient) refresh.use_gradient = true;
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

Optimizer::Pulled Optimizer::pull_terms(const std::vector<Term>& terms, const Refresh& refresh, bool keep_graph) {
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  std::vector<Tensor> predictions;
  std::vector<Tensor> u;
  std::vector<Tensor> v;
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
    predictions.push_back(terms[t].predictions);
    u.push_back(evaluation.gradient);
    if (second) v.push_back(evaluation.probe);
  }
  pulled.count = evaluations_.front().count;
  const auto parameters = all_parameters();
  pulled.g = pull_back(predictions, u, parameters, second || keep_graph);
  if (second) pulled.s = pull_back(predictions, v, parameters, keep_graph);
  return pulled;
}

double Optimizer::step(const Tensor& predictions, const Loss& loss, const Tensor& targets, bool keep_graph) {
  return step({Term{predictions, loss, targets}}, {}, keep_graph);
}

double Optimizer::step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph) {
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
    pulled = pull_terms(terms, refresh, keep_graph || regulariser.defined());
  }
  if (regulariser.defined()) add_regulariser(regulariser, keep_graph, pulled);
  return apply(pulled, refresh);
}

double Optimizer::accumulate(const Tensor& predictions, const Loss& loss, const Tensor& targets, bool keep_graph) {
  return accumulate({Term{predictions, loss, targets}}, keep_graph);
}

double Optimizer::accumulate(const std::vector<Term>& terms, bool keep_graph) {
  if (terms.empty()) refuse("accumulate() was given no loss term");
  const auto parameters = all_parameters();
  if (micro_batches_ == 0) {
    sums_.resize(terms.size());
    for (std::size_t t = 0; t < terms.size(); ++t) {
      TermSums& sums = sums_[t];
      sums.value = sums.count = 0.0;
      sums.rows = 0;
      sums.weight = terms[t].weight;
      sums.g.resize(parameters.size());
      sums.s.resize(parameters.size());
      sums.used.assign(parameters.size(), false);
    }
  }
  if (parameters.size() != sums_.front().g.size()) {
    refuse(
        "a parameter group was added after the step's first micro-batch: call discard_accumulated() and begin again");
  }
  if (terms.size() != sums_.size()) {
    refuse("this micro-batch has {} loss terms, the first one of the step had {}", terms.size(), sums_.size());
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].weight != sums_[t].weight) {
      refuse("term {} has weight {}, but had {} in the step's first micro-batch", t, terms[t].weight, sums_[t].weight);
    }
  }
  const Refresh refresh = next_refresh();
  if (poisoned_ || !evaluate_terms(terms, refresh)) {
    poisoned_ = true;
    ++micro_batches_;
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool second = needs_second_pull_back(refresh);
  const auto add = [](Tensor& sum, const Tensor& part, bool first) {
    if (!sum.defined()) sum = torch::empty_like(part, part.options(), torch::MemoryFormat::Preserve);
    if (first) {
      sum.copy_(part);
    } else {
      sum.add_(part);
    }
  };
  const torch::NoGradGuard no_grad;
  double value = 0.0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    // Each term has its own count, known only at the end: its sums stay apart.
    const bool last = t + 1 == terms.size();
    const auto g =
        pull_back({terms[t].predictions}, {evaluations_[t].gradient}, parameters, second || keep_graph || !last);
    std::vector<Tensor> s(parameters.size());
    if (second) s = pull_back({terms[t].predictions}, {evaluations_[t].probe}, parameters, keep_graph || !last);
    TermSums& sums = sums_[t];
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!g[i].defined()) continue;
      add(sums.g[i], g[i], !sums.used[i]);
      if (second) add(sums.s[i], s[i], !sums.used[i]);
      sums.used[i] = true;
    }
    sums.value += evaluations_[t].sum;
    sums.count += evaluations_[t].count;
    sums.rows += evaluations_[t].rows;
    value += terms[t].weight * evaluations_[t].mean();
  }
  ++micro_batches_;
  return value;
}

// The step's g and s from the micro-batches' sums, now that every term's count is known.
Optimizer::Pulled Optimizer::gather_accumulated(const Refresh& refresh) {
  if (all_parameters().size() != sums_.front().g.size()) {
    refuse("a parameter group was added between accumulate() and step(): call discard_accumulated() and begin again");
  }
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  pulled.g.resize(sums_.front().g.size());
  if (second) pulled.s.resize(pulled.g.size());
  pulled.count = sums_.front().count;
  const torch::NoGradGuard no_grad;
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    const TermSums& sums = sums_[t];
    if (sums.count <= 0.0)
      refuse("term {}: every target of every micro-batch is ignored, so its mean does not exist", t);
    pulled.value += sums.weight * sums.value / sums.count;
    const double g_factor = sums.weight / sums.count;
    const double s_factor = probe_factor(options_.recipe.scale, sums.weight, sums.count);
    if (sums_.size() == 1) {
      pulled.g_factor = g_factor;
      pulled.s_factor = s_factor;
    }
    for (std::size_t i = 0; i < pulled.g.size(); ++i) {
      if (!sums.used[i]) continue;
      if (sums_.size() == 1) {
        pulled.g[i] = sums.g[i];
        if (second) pulled.s[i] = sums.s[i];
        continue;
      }
      pulled.g[i] = pulled.g[i].defined() ? pulled.g[i].add(sums.g[i], g_factor) : sums.g[i] * g_factor;
      if (second) pulled.s[i] = pulled.s[i].defined() ? pulled.s[i].add(sums.s[i], s_factor) : sums.s[i] * s_factor;
    }
  }
  return pulled;
}

void Optimizer::add_regulariser(const Tensor& regulariser, bool keep_graph, Pulled& pulled) const {
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

Optimizer::Pulled Optimizer::gather_gradients(double value) const {
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

void Optimizer::discard_accumulated() {
  micro_batches_ = 0;
  poisoned_ = false;
}

}  // namespace lehi
