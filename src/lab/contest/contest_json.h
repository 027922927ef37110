// contest.json: the result of a contest. Written after every phase; all tables, pictures and sentences are made from
// it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "contest/result.h"

namespace lehi::contest {

inline constexpr const char* kResultFile = "contest.json";

nlohmann::ordered_json to_json(const Result& result);

/// FileError, naming `where` and the key, for a missing or invalid value and for another schema.
Result result_from(const nlohmann::json& document, const std::string& where);

void write_result(const std::filesystem::path& directory, const Result& result);

/// FileError as above, also if the directory has no such file.
Result read_result(const std::filesystem::path& directory);

}  // namespace lehi::contest
