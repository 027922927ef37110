#include "study/stability.h"

namespace lehi::study {

std::string_view calm_text(Calm calm) {
  switch (calm) {
    case Calm::stable:
      return "STABLE";
    case Calm::noisy:
      return "NOISY";
    case Calm::failed:
      return "FAILED";
    case Calm::unknown:
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
    if (!(run->largest_gradient <= result.largest_gradient)) {  // the first one replaces the NaN
      if (run->largest_gradient > 0.0) result.largest_gradient = run->largest_gradient;
    }
    steps.push_back(static_cast<double>(run->spike_steps));
    evaluations.push_back(static_cast<double>(run->spike_evaluations));
  }
  if (result.runs == 0) return result;
  result.spike_steps = mean_of(steps);
  result.spike_evaluations = mean_of(evaluations);
  result.calm = result.diverged > 0 ? Calm::failed : result.spike_steps > 0.0 ? Calm::noisy : Calm::stable;
  return result;
}

std::vector<StabilityRow> stability_table(const std::vector<VariantRuns>& variants) {
  std::vector<StabilityRow> rows;
  for (const auto& variant : variants) {
    auto& row = rows.emplace_back(StabilityRow{variant.task, variant.variant, {}});
    for (const auto& rate : variant.rates) row.rates.push_back(stability_of(rate));
  }
  return rows;
}

}  // namespace lehi::study
