// Compares optimizers, each at one rate: the table of `lehi compare`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

struct ComparisonRow {
  std::string variant;
  double lr = 0.0;
  MeanAndStd final;  ///< of the window means of the finished seeds
  std::size_t done = 0;
  std::size_t diverged = 0;
  std::size_t failed = 0;
  std::size_t unfinished = 0;        ///< waiting, running or interrupted
  std::size_t reached = 0;           ///< seeds that reached the baseline's result
  double seconds_to_baseline = 0.0;  ///< mean over those seeds; NaN when there are none, also below
  double forward_to_baseline = 0.0;  ///< passes up to that evaluation
  double backward_to_baseline = 0.0;
  double step_seconds = 0.0;    ///< of the fastest seed; NaN when unknown
  double relative_step = 0.0;   ///< ratio to the baseline; NaN when unknown
  double forward_passes = 0.0;  ///< mean per run
  double backward_passes = 0.0;
  double peak_memory_bytes = 0.0;  ///< largest over seeds
};

struct Comparison {
  std::string task;
  std::string metric;
  std::int64_t window = 1;
  std::string baseline;  ///< adam if the study has it, else the first optimizer
  std::vector<ComparisonRow> rows;
};

/// Of a study with one task; `directory` is the study's directory.
Comparison compare_runs(const Study& study, const std::filesystem::path& directory);

/// "3 done", "2 done, 1 diverged"
std::string status_text(const ComparisonRow& row);

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace lehi::study
