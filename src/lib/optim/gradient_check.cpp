#include "optim/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/norms.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

// What a parameter's state can keep the square of, and the sum of a million such squares. Beyond, v would be infinite
// and stay so, and the weight would never move again.
double largest_to_square(const Tensor& parameter) {
  const bool wide = parameter.scalar_type() == torch::kFloat64;
  return 0x1p-10 * std::sqrt(wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max());
}

// The 2-norm of g where the sum of the squares is beyond float64.
double scaled_norm(const Tensors& gradients, double largest) {
  double squares = 0.0;
  for (const Tensor& g : gradients) {
    if (g.defined()) squares += ops::norms(g / largest).sum_of_squares;
  }
  return largest * std::sqrt(squares);
}

}  // namespace

GradientCheck::GradientCheck(const ParameterTable& parameters, const StepPlan& plan, const Factors& factors)
    : parameters_(parameters), plan_(plan), factors_(factors), largest_(parameters.group_count()) {}

void GradientCheck::add(std::size_t index, const Tensor& g, const Tensor& s) {
  const auto norms = ops::norms(g);
  squares_ += norms.sum_of_squares;
  double& largest = largest_[parameters_.group_of(index)];
  largest = std::max(largest, norms.largest);
  if (!norms.finite && problem_.empty()) {
    problem_ = fmt::format("the gradient of {} is not finite", parameters_.name(index));
  }
  const double limit = largest_to_square(parameters_.tensor(index));
  if (plan_.squares_gradient() || plan_.gradient_factors) {
    const double excess = norms.largest * factors_.g / limit;
    if (excess > std::max(1.0, excess_)) {
      excess_ = excess;
      excessive_ = parameters_.name(index);
    }
  }
  if (!s.defined() || ops::is_within(s, limit / factors_.s) || !problem_.empty()) return;
  problem_ = ops::is_finite(s)
                 ? fmt::format("the probe of {} is too large for its square to be kept", parameters_.name(index))
                 : fmt::format("the probe of {} is not finite", parameters_.name(index));
}

GradientSummary GradientCheck::finish(const LossValue& loss, std::optional<double> clip_norm,
                                      const Tensors& gradients) const {
  GradientSummary summary;
  double largest = 0.0;
  for (const double of_group : largest_) {
    summary.group_inf_norms.push_back(of_group * factors_.g);
    largest = std::max(largest, of_group);
  }
  const bool overflow = problem_.empty() && std::isinf(squares_) && !gradients.empty();
  summary.norm = (overflow ? scaled_norm(gradients, largest) : std::sqrt(squares_)) * factors_.g;
  summary.inf_norm = largest * factors_.g;
  summary.problem = problem_;
  if (summary.problem.empty() && loss.known && !std::isfinite(loss.value)) summary.problem = "the loss is not finite";
  if (!summary.problem.empty()) summary.norm = summary.inf_norm = std::numeric_limits<double>::quiet_NaN();
  if (clip_norm && std::isfinite(summary.norm)) summary.clip_factor = std::min(1.0, *clip_norm / summary.norm);
  if (summary.problem.empty() && excess_ * summary.clip_factor > 1.0) {
    summary.problem = fmt::format("the gradient of {} is too large for its square to be kept", excessive_);
  }
  return summary;
}

}  // namespace lehi
