// Time and passes that an optimizer needs to reach the result of a baseline.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "study/selection.h"

namespace lehi::study {

/// What a run had used up to some evaluation; NaN where the metrics lack it.
struct Effort {
  double seconds = 0.0;
  double forward_passes = 0.0;
  double backward_passes = 0.0;
};

/// At the first line of metrics.jsonl where `metric` is at least as good as `target`; nothing when it never is.
std::optional<Effort> effort_to_reach(const std::vector<nlohmann::json>& lines, const std::string& metric,
                                      double target);

/// How often and how soon an optimizer reached the baseline's result (the mean of its window) with the same seed.
struct Reached {
  std::size_t seeds = 0;    ///< that both finished, the baseline without diverging
  std::size_t reached = 0;  ///< seeds that reached the result
  Effort effort = {};       ///< mean over those seeds; NaN when there are none
};

/// `directory_of` returns the directory of a run's study.
Reached reach_baseline(const RateRuns& runs, const RateRuns& baseline, const std::string& metric,
                       const std::function<std::filesystem::path(const StudyRun&)>& directory_of);

}  // namespace lehi::study
