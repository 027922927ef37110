// The face of an optimizer: constructors, and the ways to take a step. The parts of a step are files of this room.
#include "lehi/optimizer.h"

#include <limits>

#include "optim/diagnostics.h"
#include "optim/step.h"
#include "optim/updater.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensors values_of(const torch::OrderedDict<std::string, Tensor>& parameters) {
  Tensors values;
  for (const auto& item : parameters) values.push_back(item.value());
  return values;
}

// Checked before the base class copies them.
Options checked(Options options) {
  check(options);
  return options;
}

// From .grad(); value: the loss where a closure returned one. Averaged over the ranks.
double apply_grad(Step step, const Tensor& value) {
  OptimizerParts& parts = step.parts;
  step.loss = {.value = value.defined() ? value.detach().item<double>() : nan,
               .known = value.defined(),
               .count = 1.0,
               .counted = false};
  const double ranks = parts.ranks->size();
  if (value.defined()) parts.ranks->sum({&step.loss.value});
  step.loss.value /= ranks;
  step.factors.g = 1.0 / ranks;
  return apply(step, collect(step, [&](const GradientSink& sink) { deliver_grad(parts.parameters, sink); }));
}

void expect_gradient_probe(const Options& options) {
  if (options.recipe.probe == Probe::gradient) return;
  throw_invalid_argument(
      "{} pulls back a {} probe, for which it must see the predictions: call step(predictions, loss, targets) instead "
      "of step(closure)",
      options.name, name(options.recipe.probe));
}

void check_terms(const OptimizerParts& parts, const std::vector<Term>& terms, const Tensor& regulariser) {
  const std::int64_t waiting = parts.micro_batches.count();
  if (terms.empty() && waiting == 0) {
    throw_invalid_argument("step() was given no loss term and nothing was accumulated");
  }
  if (!terms.empty() && waiting > 0) {
    throw_invalid_argument(
        "{} accumulated micro-batches wait for step(): call it without terms, or discard_accumulated() first", waiting);
  }
  bool by_network = false;
  for (const Term& term : terms) by_network = by_network || term.pull_back;
  if (by_network && terms.size() > 1) {
    throw_invalid_argument("a network that differentiates itself must be the only term, but there are {}",
                           terms.size());
  }
  if (parts.options.update_during_pull_back && (!by_network || regulariser.defined())) {
    throw_invalid_argument(
        "update_during_pull_back is for networks that differentiate themselves (lehi::Differentiable), without a "
        "regulariser: nothing else tells when a weight's gradient is complete");
  }
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): by value as LibTorch's own constructors
Optimizer::Optimizer(Groups groups, Options options)
    : torch::optim::Optimizer(Groups{}, std::make_unique<GroupOptions>(checked(options).group)),
      parts_(std::make_unique<OptimizerParts>(OptimizerParts{.options = std::move(options)})) {
  for (const auto& group : groups) add_param_group(group);
  begin_step(*parts_, param_groups_, state_);
}

Optimizer::Optimizer(Tensors parameters, Options options)
    : Optimizer(Groups{torch::optim::OptimizerParamGroup(std::move(parameters))}, std::move(options)) {}

Optimizer::Optimizer(const torch::OrderedDict<std::string, Tensor>& parameters, Options options)
    : Optimizer(values_of(parameters), std::move(options)) {
  name_parameters(parameters);
}

Optimizer::Optimizer(NamedGroups groups, Options options) : Optimizer(std::move(groups.groups), std::move(options)) {
  name_parameters(groups.names);
}

Optimizer::~Optimizer() = default;

void Optimizer::add_param_group(const torch::optim::OptimizerParamGroup& group) {
  torch::optim::Optimizer::add_param_group(group);
  if (group.has_options()) param_groups_.back().set_options(group.options().clone());
}

// NOLINTNEXTLINE(bugprone-exception-escape): torch's map of states throws for lack of memory only
Optimizer::Optimizer(Optimizer&& other) noexcept = default;

double Optimizer::step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph) {
  check_terms(*parts_, terms, regulariser);
  Step step = begin_step(*parts_, param_groups_, state_);
  const bool second = step.plan.second_backward();
  const Scale scale = parts_->options.recipe.scale;
  std::vector<Evaluation>& evaluations = parts_->evaluations;
  MicroBatches& micro_batches = parts_->micro_batches;

  GradientSource source;
  if (terms.empty()) {
    const std::string problem = micro_batches.poisoned() ? "the predictions of a micro-batch are not finite" : "";
    if (!all_ranks_go_on(*parts_, problem, micro_batches.totals())) return skip_step(*parts_, nan);
    source = micro_batches.source(scale, second, parts_->parameters.size(), step.loss, step.factors);
  } else {
    const std::string problem = evaluate(step, terms);
    std::vector<double*> totals;
    for (Evaluation& evaluation : evaluations) totals.insert(totals.end(), {&evaluation.sum, &evaluation.count});
    if (!all_ranks_go_on(*parts_, problem, totals)) return skip_step(*parts_, nan);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      step.factors = add_term(t, terms[t].weight, evaluations[t].sum, evaluations[t].count, scale, step.loss);
      // Left to the update where there is one term: no pass over u and v.
      if (terms.size() > 1) scale_evaluation(std::exchange(step.factors, {}), evaluations[t]);
    }
    source = [&](const GradientSink& sink) {
      backward(terms, evaluations, second, parts_->parameters, keep_graph || regulariser.defined(), sink);
    };
  }
  if (parts_->options.update_during_pull_back) return apply_during_backward(step, source);
  Gradients gradients = collect(step, source);
  if (regulariser.defined()) add_regulariser(step, regulariser, keep_graph, gradients.g);
  return apply(step, gradients);
}

double Optimizer::accumulate(const std::vector<Term>& terms, bool keep_graph) {
  if (terms.empty()) throw_invalid_argument("accumulate() was given no loss term");
  if (parts_->options.update_during_pull_back) {
    throw_invalid_argument("update_during_pull_back updates the weights at once and cannot accumulate() micro-batches");
  }
  if (parts_->ranks->several() && !parts_->first_row) {
    throw_invalid_argument(
        "several ranks accumulate() micro-batches: tell each of them by set_first_row() where its rows begin");
  }
  MicroBatches& micro_batches = parts_->micro_batches;
  const Step step = begin_step(*parts_, param_groups_, state_);
  micro_batches.begin(terms, parts_->parameters.size());
  bool poisoned = micro_batches.poisoned();
  if (!poisoned) {
    const std::string problem = evaluate(step, terms);
    // Other ranks learn of it when the step is taken; so it is there that this one throws, too.
    poisoned = !problem.empty() && (parts_->ranks->several() || !all_ranks_go_on(*parts_, problem, {}));
  }
  if (poisoned) {
    micro_batches.add_poisoned();
    return nan;
  }
  return micro_batches.add(terms, parts_->evaluations, step.plan.second_backward(), parts_->parameters, keep_graph);
}

double Optimizer::step() {
  if (parts_->micro_batches.count() > 0) return step(std::vector<Term>{});
  expect_gradient_probe(parts_->options);
  return apply_grad(begin_step(*parts_, param_groups_, state_), {});
}

Tensor Optimizer::step(LossClosure closure) {
  if (parts_->micro_batches.count() > 0) {
    if (closure) {
      throw_invalid_argument("step() after accumulate() takes no closure: the gradients are already there");
    }
    return torch::tensor(step(std::vector<Term>{}), torch::kFloat64);
  }
  expect_gradient_probe(parts_->options);
  Tensor value;
  if (closure) {
    const torch::AutoGradMode with_grad(true);
    value = closure();
  }
  apply_grad(begin_step(*parts_, param_groups_, state_), value);
  return value;
}

void Optimizer::discard_accumulated() { parts_->micro_batches.discard(); }

void Optimizer::distribute(std::shared_ptr<Ranks> ranks, const DistributeOptions& options) {
  if (ranks == nullptr) throw_invalid_argument("distribute() was given no ranks");
  if (parts_->micro_batches.count() > 0) {
    throw_invalid_argument("distribute() was called between accumulate() and step()");
  }
  if (!state_.empty() && (options.shard_state || parts_->ranks->divided())) {
    throw_invalid_argument(
        "the state is divided over ranks from the first step on: call distribute() before it, and only once");
  }
  begin_step(*parts_, param_groups_, state_);
  auto team = team_of(std::move(ranks), options);
  team->set_parameters(parts_->parameters.tensors(), !state_.empty());
  parts_->ranks = std::move(team);
}

void Optimizer::set_first_row(std::int64_t row) { parts_->first_row = row; }
const Options& Optimizer::options() const { return parts_->options; }
const StepReport& Optimizer::report() const { return parts_->report; }
std::int64_t Optimizer::steps() const { return parts_->counter.step; }

void Optimizer::name_parameters(const torch::OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) parts_->parameters.set_name(item.value(), item.key());
}

std::string Optimizer::parameter_name(std::size_t group, std::size_t index) const {
  return parts_->parameters.name(param_groups_[group].params()[index], group, index);
}

const ParameterState* Optimizer::find_state(const Tensor& parameter) const {
  return lehi::find_state(state_, parameter);
}

Tensor Optimizer::curvature(const Tensor& parameter) const {
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    for (const Tensor& member : param_groups_[group].params()) {
      if (!member.is_same(parameter)) continue;
      return kept_curvature(parts_->options.recipe, find_state(parameter), group_options(param_groups_, group));
    }
  }
  return {};
}

double Optimizer::eps_dominated() const { return lehi::eps_dominated(*parts_, param_groups_, state_); }

}  // namespace lehi
