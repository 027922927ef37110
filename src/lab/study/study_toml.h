// Reads a study file: several tasks with their optimizers, rates, seeds and settings, for `lehi sweep --study FILE`.
//
//   optimizers = ["lehi", "adam"]      # keys before the first [[task]] are the defaults of all tasks
//   seeds = [0, 1, 2]
//   best = 2                           # two phases: all rates with seed 0, then the best two with seeds 1, 2
//
//   [[task]]
//   name = "protein"
//   rates = [1e-3, 3e-3, 1e-2]
//   rates_of.adam = [1e-4, 3e-4, 1e-3] # instead of `rates`, for one optimizer
//   validation = 0.1
//   settings.train.epochs = 50         # any key of `lehi train --help-config`
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "study/plan.h"

namespace lehi::study {

/// One request per task, in the order of the file. Throws train::ConfigError, naming file and line, for invalid TOML,
/// unknown keys and values of the wrong type; make_study_plan() checks the values.
std::vector<PlanRequest> parse_study_file(std::string_view text, const std::string& where);
std::vector<PlanRequest> read_study_file(const std::filesystem::path& file);

/// The optimizers of a sweep that names none.
const std::vector<std::string>& default_optimizers();

}  // namespace lehi::study
