// What an optimizer costs at a rate: the paper's runtime table.
#pragma once

#include <cstddef>

#include "study/selection.h"

namespace lehi::study {

/// Seconds of a step: the fastest average over ten steps, which other work on the machine disturbs least; NaN of a run
/// that ended before.
double step_seconds(const StudyRun& run);

/// Over the finished seeds; what no run tells is NaN.
struct Cost {
  std::size_t runs = 0;            ///< finished ones
  double fastest_step = 0.0;       ///< seconds: smallest average over a window of ten steps, of any run
  double slowest_step = 0.0;       ///< largest such average; other work on the machine shows here first
  double mean_step = 0.0;          ///< seconds of batches and steps, over all steps of all runs
  double seconds = 0.0;            ///< of a run with evaluations and record, mean
  double peak_memory_bytes = 0.0;  ///< largest of any run
  double forward_passes = 0.0;     ///< of a run, mean
  double backward_passes = 0.0;
};

Cost cost_of(const RateRuns& runs);

}  // namespace lehi::study
