// What a run measured on its way: the columns of its metrics.jsonl.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::report {

struct Curves {
  /// "step", "epoch", "seconds", every loss and accuracy, "grad_inf_norm", "eps_dominated": one value an evaluation,
  /// NaN where a line has none. A name that no line has is missing.
  std::map<std::string, std::vector<double>> columns;
  std::string problem;  ///< why they can't be read; "" when they can, or when there are none yet
};

/// No more than `most` (>= 2) evaluations of a run, evenly chosen, the last one among them. Throws nothing.
Curves read_curves(const study::StudyRun& run, const std::filesystem::path& study_directory, std::size_t most);

}  // namespace lehi::report
