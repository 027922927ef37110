// Optimizers side by side, each at one rate: what `lehi compare` shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "study/run_cost.h"
#include "study/selection.h"
#include "study/study.h"

namespace lehi::study {

struct ComparisonRow {
  std::string variant;
  double lr = 0.0;
  Spread final;  ///< of the window means of the finished seeds
  std::size_t done = 0;
  std::size_t diverged = 0;
  std::size_t failed = 0;
  std::size_t unfinished = 0;        ///< waiting, running or interrupted
  std::size_t reached = 0;           ///< seeds that reached what the baseline ended with
  double seconds_to_baseline = 0.0;  ///< mean over those; NaN when there are none, as the next two
  double forward_to_baseline = 0.0;  ///< passes until then
  double backward_to_baseline = 0.0;
  double step_seconds = 0.0;    ///< of the fastest seed; NaN when unknown
  double relative_step = 0.0;   ///< to the baseline's; NaN when unknown
  double forward_passes = 0.0;  ///< of a run, mean over seeds
  double backward_passes = 0.0;
  double peak_memory_bytes = 0.0;  ///< largest over seeds
};

struct Comparison {
  std::string task;
  std::string metric;
  std::int64_t window = 1;
  std::string baseline;  ///< adam where it took part, else the first optimizer
  std::vector<ComparisonRow> rows;
};

/// Of a study's only task; `directory` is the study's, for its runs' metrics.
Comparison compare_runs(const Study& study, const std::filesystem::path& directory);

/// The seconds of the first line where `metric` is as good as `target`; nothing when it never is.
std::optional<double> seconds_to_reach(const std::vector<nlohmann::json>& lines, const std::string& metric,
                                       double target);

/// What it took to get somewhere.
struct Effort {
  double seconds = 0.0;
  double forward_passes = 0.0;
  double backward_passes = 0.0;
};

/// Of the first line where `metric` is as good as `target`; nothing when it never is. What the line lacks is NaN.
std::optional<Effort> effort_to_reach(const std::vector<nlohmann::json>& lines, const std::string& metric,
                                      double target);

/// An optimizer on the way to what a baseline ended with (its window's mean) on the same seed.
struct Reached {
  std::size_t seeds = 0;    ///< that both finished, the baseline without diverging
  std::size_t reached = 0;  ///< of those
  Effort effort = {};       ///< mean over the seeds that reached it; NaN when there are none
};

/// `place` is the directory of a run's study.
Reached reach_baseline(const RateRuns& runs, const RateRuns& baseline, const std::string& metric,
                       const std::function<std::filesystem::path(const StudyRun&)>& place);

/// "3 done", "2 done, 1 diverged"
std::string status_text(const ComparisonRow& row);

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace lehi::study
