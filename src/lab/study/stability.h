// The stability of an optimizer at a rate: the table in the paper's appendix.
#pragma once

#include <cstddef>
#include <string_view>

#include "study/selection.h"

namespace lehi::study {

enum class StabilityStatus {
  stable,   ///< no spike in any run
  noisy,    ///< spikes, but every run ended with finite numbers
  failed,   ///< a run ended in NaN
  unknown,  ///< no run has finished
};

/// "STABLE", "NOISY" or "FAILED" as in the paper, or "-".
std::string_view status_text(StabilityStatus status);

/// One optimizer at one rate, over its finished seeds.
struct Stability {
  double lr = 0.0;
  std::size_t runs = 0;            ///< finished runs
  std::size_t diverged = 0;        ///< runs that ended in NaN
  double largest_gradient = 0.0;   ///< largest |g|_inf over all steps of all runs; NaN when unknown
  double spike_steps = 0.0;        ///< mean number per run; NaN without runs
  double spike_evaluations = 0.0;  ///< mean number of intervals between evaluations with a spike; NaN without runs
  StabilityStatus status = StabilityStatus::unknown;
};

Stability stability_of(const RateRuns& runs);

}  // namespace lehi::study
