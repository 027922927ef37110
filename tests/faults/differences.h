// How a run or study with faults differs from an undisturbed one. Used by the tests and the soak.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lehi::faults {

/// A document without times and memory sizes.
nlohmann::json without_times(nlohmann::json document);

/// A message for each difference; empty if both runs are done and have the same bits (weights, optimizer state, metrics
/// and record, except times) and the same files, none of them incomplete.
std::vector<std::string> run_differences(const std::filesystem::path& reference, const std::filesystem::path& run);

/// The same for a study and its runs.
std::vector<std::string> study_differences(const std::filesystem::path& reference, const std::filesystem::path& study);

/// The total size of the files below `reference` that are missing or different in the other directory. Times count as
/// differences: useful only after the functions above have found some.
std::uintmax_t bytes_lost(const std::filesystem::path& reference, const std::filesystem::path& directory);

/// Temporary files below a directory.
std::vector<std::string> leftovers(const std::filesystem::path& directory);

/// run.json of every finished run of a study, by its directory: these may not change any more.
std::map<std::string, std::string> finished_runs(const std::filesystem::path& study);

}  // namespace lehi::faults
