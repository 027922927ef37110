#include "optim/step.h"

#include <limits>

#include "curvature/pull_back.h"
#include "lehi/error.h"
#include "optim/diagnostics.h"
#include "optim/gradient_check.h"
#include "optim/updater.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

void begin_report(const Step& step) {
  StepReport& report = step.parts.report;
  report = {};
  report.step = step.parts.counter.step + 1;
  report.value = step.loss.value;
  report.count = step.loss.count;
  report.refreshed = step.plan.refreshes();
  report.second_pull_back = step.plan.second_backward();
  if (step.parts.options.diagnostics) report.groups.resize(step.groups.size());
}

// Fills the report. Throws NonFiniteError under that policy.
void report_gradients(const Step& step, const GradientSummary& summary) {
  StepReport& report = step.parts.report;
  report.gradient_norm = summary.norm;
  report.gradient_inf_norm = summary.inf_norm;
  report.clip_factor = summary.clip_factor;
  report.non_finite = !summary.problem.empty();
  for (std::size_t group = 0; group < report.groups.size(); ++group) {
    report.groups[group].gradient_inf_norm = summary.group_inf_norms[group];
  }
  if (!report.non_finite || step.parts.options.non_finite != NonFinite::throw_error) return;
  step.parts.micro_batches.discard();
  throw NonFiniteError(
      fmt::format("step {}: {}, so no weight was changed: lower the learning rate, set clip_norm, or choose the "
                  "policy skip or record",
                  report.step, summary.problem));
}

Updater updater_of(const Step& step) {
  return {.options = step.parts.options,
          .parameters = step.parts.parameters,
          .ranks = *step.parts.ranks,
          .plan = step.plan,
          .factors = {step.factors.g * step.parts.report.clip_factor, step.factors.s},
          .count = step.loss.count,
          .predictions = step.loss.counted ? step.loss.count : std::numeric_limits<double>::infinity(),
          .step = step.parts.counter.step + 1};
}

double finish_step(const Step& step) {
  StepCounter& counter = step.parts.counter;
  if (counter.known_parameters != step.parts.parameters.size()) counter.schedule_start = counter.step;
  counter.known_parameters = step.parts.parameters.size();
  ++counter.step;
  step.parts.micro_batches.discard();
  return step.loss.value;
}

}  // namespace

Step begin_step(OptimizerParts& parts, const Groups& groups, States& states) {
  const Rule rule = parts.options.recipe.rule;
  if (parts.parameters.is_current(groups)) {
    parts.parameters.check(groups, rule);
  } else {
    ParameterTable table = parts.parameters;  // a copy: where a check or the ranks throw, nothing has changed
    table.read(groups);
    table.check(groups, rule);
    parts.ranks->set_parameters(table.tensors(), !states.empty());
    parts.parameters = std::move(table);
  }
  const StepCounter& counter = parts.counter;
  const bool newcomers = counter.known_parameters != parts.parameters.size();
  Step step{.parts = parts, .groups = groups, .states = states};
  step.plan = plan_step(parts.options.recipe, newcomers ? 1 : counter.step + 1 - counter.schedule_start);
  return step;
}

std::string evaluate(const Step& step, const std::vector<Term>& terms) {
  OptimizerParts& parts = step.parts;
  const EvaluationContext context{.options = parts.options,
                                  .plan = step.plan,
                                  .ranks = *parts.ranks,
                                  .first_row = parts.first_row,
                                  .step = parts.counter.step + 1};
  const auto rows = parts.micro_batches.count() > 0 ? parts.micro_batches.rows() : std::vector<std::int64_t>{};
  return evaluate_terms(terms, context, rows, parts.evaluations);
}

bool all_ranks_go_on(OptimizerParts& parts, std::string problem, std::vector<double*> totals) {
  double failed = problem.empty() ? 0.0 : 1.0;
  totals.push_back(&failed);
  parts.ranks->sum(totals);
  if (problem.empty() && failed > 0.0) problem = "the predictions of another rank are not finite";
  if (problem.empty()) return true;
  if (parts.options.non_finite != NonFinite::throw_error) return false;
  parts.micro_batches.discard();
  throw NonFiniteError(fmt::format("step {}: {}", parts.counter.step + 1, problem));
}

double skip_step(OptimizerParts& parts, double value) {
  parts.micro_batches.discard();
  parts.report = {};
  parts.report.step = parts.counter.step + 1;
  parts.report.value = value;
  parts.report.non_finite = parts.report.skipped = true;
  parts.report.gradient_norm = parts.report.gradient_inf_norm = std::numeric_limits<double>::quiet_NaN();
  return value;
}

void add_regulariser(Step& step, const Tensor& regulariser, bool keep_graph, Tensors& g) {
  if (regulariser.numel() != 1) {
    throw_invalid_argument("the regulariser has {} elements, but must be a scalar tensor", regulariser.numel());
  }
  const Tensors parts =
      pull_back({regulariser}, {torch::ones_like(regulariser)}, step.parts.parameters.tensors(), keep_graph);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (g[i].defined()) g[i] = g[i] * step.factors.g;
    if (!parts[i].defined()) continue;
    g[i] = g[i].defined() ? g[i] + parts[i] : parts[i];
  }
  step.factors.g = 1.0;
  step.loss.value += regulariser.detach().item<double>();
}

Gradients collect(const Step& step, const GradientSource& source) {
  Gradients gradients;
  gradients.g.resize(step.parts.parameters.size());
  gradients.s.resize(step.parts.parameters.size());
  step.parts.ranks->sum_gradients(source, step.vectors(), /*early=*/false,
                                  [&](std::size_t index, const Tensor& g, const Tensor& s) {
                                    gradients.g[index] = g;
                                    gradients.s[index] = s;
                                  });
  return gradients;
}

double apply(const Step& step, const Gradients& gradients) {
  OptimizerParts& parts = step.parts;
  begin_report(step);
  GradientCheck gradient_check(parts.parameters, step.plan, step.factors);
  for (std::size_t i = 0; i < gradients.g.size(); ++i) {
    if (gradients.g[i].defined()) gradient_check.add(i, gradients.g[i], gradients.s[i]);
  }
  report_gradients(step, gradient_check.finish(step.loss, parts.options.clip_norm, gradients.g));
  if (parts.report.non_finite && parts.options.non_finite == NonFinite::skip) return skip_step(parts, step.loss.value);

  const torch::NoGradGuard no_grad;
  Tensors before;
  if (parts.options.diagnostics) {
    for (const Tensor& parameter : parts.parameters.tensors()) before.push_back(parameter.detach().clone());
  }
  updater_of(step).update_all(step.states, gradients.g, gradients.s);
  parts.ranks->share_weights(matrices_of(parts.parameters, step.states));
  finish_step(step);
  if (parts.options.diagnostics) diagnose(parts, step.groups, step.states, before);
  return step.loss.value;
}

double apply_during_backward(const Step& step, const GradientSource& source) {
  OptimizerParts& parts = step.parts;
  begin_report(step);
  GradientCheck gradient_check(parts.parameters, step.plan, step.factors);
  const Updater updater = updater_of(step);
  parts.ranks->sum_gradients(source, step.vectors(), /*early=*/true,
                             [&](std::size_t index, const Tensor& g, const Tensor& s) {
                               gradient_check.add(index, g, s);
                               updater.update(step.states, index, g, s);
                             });
  parts.ranks->share_weights(matrices_of(parts.parameters, step.states));
  report_gradients(step, gradient_check.finish(step.loss, std::nullopt, {}));
  return finish_step(step);
}

}  // namespace lehi
