#include "study/stability.h"

namespace lehi::study {

std::string_view status_text(StabilityStatus status) {
  switch (status) {
    case StabilityStatus::stable:
      return "STABLE";
    case StabilityStatus::noisy:
      return "NOISY";
    case StabilityStatus::failed:
      return "FAILED";
    case StabilityStatus::unknown:
      break;
  }
  return "-";
}

Stability stability_of(const RateRuns& runs) {
  Stability result{.lr = runs.lr, .largest_gradient = kNan, .spike_steps = kNan, .spike_evaluations = kNan};
  std::vector<double> steps;
  std::vector<double> evaluations;
  for (const auto* run : runs.runs) {
    if (!run->finished()) continue;
    ++result.runs;
    result.diverged += run->diverged() ? 1U : 0U;
    if (!(run->largest_gradient <= result.largest_gradient)) {  // also true for the initial NaN
      if (run->largest_gradient > 0.0) result.largest_gradient = run->largest_gradient;
    }
    steps.push_back(static_cast<double>(run->spike_steps));
    evaluations.push_back(static_cast<double>(run->spike_evaluations));
  }
  if (result.runs == 0) return result;
  result.spike_steps = mean_of(steps);
  result.spike_evaluations = mean_of(evaluations);
  result.status = result.spike_steps > 0.0 ? StabilityStatus::noisy : StabilityStatus::stable;
  if (result.diverged > 0) result.status = StabilityStatus::failed;
  return result;
}

}  // namespace lehi::study
