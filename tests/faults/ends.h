// How a run or a study that was disturbed differs from one that was left alone; the soak asks too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lehi::faults {

/// A document without what a clock or the machine's memory says.
nlohmann::json without_times(nlohmann::json document);

/// One sentence each; empty when both runs are done and have the same bits: weights, optimizer state, metrics and
/// record (but for times), the same files, and nothing half-written.
std::vector<std::string> run_differences(const std::filesystem::path& reference, const std::filesystem::path& run);

/// The same for a study, its runs included.
std::vector<std::string> study_differences(const std::filesystem::path& reference, const std::filesystem::path& study);

/// Bytes of the files below `reference` that the other directory lacks or has otherwise, times included: worth asking
/// where there are differences.
std::uintmax_t bytes_lost(const std::filesystem::path& reference, const std::filesystem::path& directory);

/// Half-written files below a directory.
std::vector<std::string> leftovers(const std::filesystem::path& directory);

/// run.json of every finished run of a study, by its folder: none may change any more.
std::map<std::string, std::string> finished_runs(const std::filesystem::path& study);

}  // namespace lehi::faults
