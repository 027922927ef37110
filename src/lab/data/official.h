// Compares files with the official ones of the catalogue.
#pragma once

#include <filesystem>
#include <string>

#include "data/catalogue.h"
#include "data/find_files.h"

namespace lehi::data {

/// How the file's contents differ from the official ones, in one sentence; "" when they agree as far as size and digest
/// are known. Line endings of CSV files are not compared. Throws DataError when the file can't be read.
std::string difference_from_official(const OfficialFile& official, const std::filesystem::path& file);

/// Throws DataError if a file differs from the official one; the message ends with `advice`. Missing files are ignored.
void require_official(const TaskFiles& task, const Place& place, const std::string& advice);

}  // namespace lehi::data
