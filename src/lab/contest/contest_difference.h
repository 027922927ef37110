// Whether a contest that has begun can be continued with a changed file.
#pragma once

#include <filesystem>
#include <string>

#include "contest/contest_file.h"

namespace lehi::contest {

/// A sentence about the first setting that differs for a task and an arm with runs in the contest's directory; ""
/// when there is none. Tasks and arms may be added, titles and the size of the effect may change.
std::string contest_difference(const Contest& there, const Contest& here, const std::filesystem::path& directory);

}  // namespace lehi::contest
