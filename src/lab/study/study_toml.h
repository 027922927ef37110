// A study file: several tasks, each with its optimizers, rates, seeds and settings, for `lehi sweep --study FILE`.
//
//   optimizers = ["lehi", "adam"]      # keys before the first [[task]] hold for every task that does not say otherwise
//   seeds = [0, 1, 2]
//   best = 2                           # two phases: all rates with seed 0, then the best two with seeds 1 and 2
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

/// One request a task, in the order of the file. Throws train::ConfigError, naming file and line, for anything that is
/// no study file; what the values mean is make_study_plan()'s to judge.
std::vector<PlanRequest> parse_study_file(std::string_view text, const std::string& where);
std::vector<PlanRequest> read_study_file(const std::filesystem::path& file);

/// What a sweep trains when nobody says.
const std::vector<std::string>& default_optimizers();

}  // namespace lehi::study
