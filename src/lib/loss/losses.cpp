// The elementwise losses: checks of targets and options. The formulas are in kernels/elementwise_formulas.h.
#include "lehi/losses.h"

#include <cmath>

#include "loss/checks.h"
#include "ops/elementwise.h"
#include "runtime/message.h"

namespace lehi {
namespace {

torch::Tensor checked_targets(const std::string& name, const torch::Tensor& predictions, const torch::Tensor& targets) {
  if (targets.sizes() != predictions.sizes()) {
    throw_invalid_argument(
        "{}: targets of shape {} do not match predictions of shape {}: the shapes must be equal, nothing is broadcast",
        name, shape_string(targets.sizes()), shape_string(predictions.sizes()));
  }
  if (targets.dtype() != predictions.dtype()) {
    const std::string wanted = c10::toString(predictions.scalar_type());
    throw_invalid_argument("{}: targets are {} and predictions {}: convert the targets with .to(torch::k{})", name,
                           c10::toString(targets.scalar_type()), wanted, wanted == "Float" ? "Float32" : "Float64");
  }
  return targets.detach().contiguous();
}

// Throws if the kernel found a bad prediction or target.
void check_result(const std::string& name, const kernels::ElementwiseFormula& formula, const ops::ElementwiseTask& task,
                  const kernels::ElementwiseResult& result) {
  if (result.bad_prediction >= 0) check_finite(name, task.predictions);
  if (result.bad_target < 0) return;
  const auto expected = std::visit([](const auto& f) { return f.expected; }, formula.formula);
  throw_invalid_argument("{}: the target at {} is {}; expected {}", name,
                         position_of(task.predictions, result.bad_target),
                         task.targets.flatten()[result.bad_target].item<double>(), expected);
}

}  // namespace

bool ElementwiseLoss::supports(Probe probe) const {
  return std::visit(
      [probe](const auto& f) {
        if (probe == Probe::gauss_newton) return f.convex;
        return probe != Probe::sampled_label || f.has_labels;
      },
      formula().formula);
}

void ElementwiseLoss::compute(const torch::Tensor& predictions, const torch::Tensor& targets,
                              const ProbeRequest& request, Evaluation& out) const {
  ops::ElementwiseTask task;
  task.predictions = predictions;
  task.targets = checked_targets(name(), predictions, targets);
  task.outputs = row_shape(predictions).outputs;
  task.probe = request.probe;
  task.key = request.key;
  const kernels::ElementwiseFormula rule = formula();
  const auto run = predictions.is_cpu() ? ops::elementwise : ops::elementwise_plain;
  const kernels::ElementwiseResult result = run(rule, task, out.gradient, out.probe);
  check_result(name(), rule, task, result);
  out.sum = result.sum;
  out.count = static_cast<double>(out.rows);
}

torch::Tensor ElementwiseLoss::second_derivatives(const torch::Tensor& predictions,
                                                  const torch::Tensor& targets) const {
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  evaluate(values, aims);  // checks predictions and targets
  return ops::elementwise_second(formula(), values.cpu(), aims.contiguous().cpu()).to(values.device());
}

kernels::ElementwiseFormula MeanSquaredError::formula() const { return {kernels::SquaredError{}}; }
kernels::ElementwiseFormula BinaryCrossEntropy::formula() const { return {kernels::Logistic{}}; }
kernels::ElementwiseFormula Huber::formula() const { return {kernels::HuberFormula{delta_}}; }
kernels::ElementwiseFormula LogCosh::formula() const { return {kernels::LogCoshFormula{}}; }
kernels::ElementwiseFormula PoissonNll::formula() const { return {kernels::PoissonFormula{}}; }
kernels::ElementwiseFormula SquaredHinge::formula() const { return {kernels::SquaredHingeFormula{}}; }
kernels::ElementwiseFormula Focal::formula() const { return {kernels::FocalFormula{gamma_, alpha_}}; }

Huber::Huber(double delta) : delta_(delta) {
  if (!(delta > 0.0) || !std::isfinite(delta))
    throw_invalid_argument("huber: delta is {}; expected a finite number above 0", delta);
}

Focal::Focal(double gamma, double alpha) : gamma_(gamma), alpha_(alpha) {
  if (!(gamma >= 0.0) || !std::isfinite(gamma))
    throw_invalid_argument("focal: gamma is {}; expected a finite number, 0 or above", gamma);
  if (!(alpha > 0.0 && alpha < 1.0))
    throw_invalid_argument("focal: alpha is {}; expected a number between 0 and 1", alpha);
}

}  // namespace lehi
