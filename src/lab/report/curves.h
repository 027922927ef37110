// The learning curves of a run, read from its metrics.jsonl.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::report {

struct Curves {
  /// By name: "step", "epoch", "seconds", "grad_inf_norm", "eps_dominated", all losses and accuracies. One value per
  /// evaluation, NaN where its line has none; names that no line has are absent.
  std::map<std::string, std::vector<double>> columns;
  std::string problem;  ///< why the file cannot be read; "" if it can, or if there is no file yet
};

/// At most `max_evaluations` (>= 2) evaluations of a run, evenly spaced, including the last. Errors are reported in
/// `problem`, not thrown.
Curves read_curves(const study::StudyRun& run, const std::filesystem::path& study_directory,
                   std::size_t max_evaluations);

}  // namespace lehi::report
