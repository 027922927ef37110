// The cost of an optimizer at a rate: the paper's runtime table.
#pragma once

#include <cstddef>

#include "study/selection.h"

namespace lehi::study {

/// Seconds per step: the smallest average over ten steps, which other programs disturb least; NaN for a run of fewer
/// steps.
double step_seconds(const StudyRun& run);

/// Over the finished seeds; NaN where no run has the value.
struct Cost {
  std::size_t runs = 0;            ///< finished runs
  double fastest_step = 0.0;       ///< seconds: smallest average over ten steps of any run
  double slowest_step = 0.0;       ///< largest such average; shows whether other programs disturbed the runs
  double seconds = 0.0;            ///< mean duration of a run, with evaluations and records
  double peak_memory_bytes = 0.0;  ///< largest of any run
  double forward_passes = 0.0;     ///< mean per run
  double backward_passes = 0.0;
};

Cost cost_of(const RateRuns& runs);

}  // namespace lehi::study
