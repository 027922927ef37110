// Names that are safe as names of files and directories.
#pragma once

#include <string>
#include <string_view>

namespace lehi::base {

/// The letters, digits, '.', '-', '_' and '+' of `text`; each run of other characters becomes one '_'. The result is
/// not empty, has at most 80 bytes, and starts with neither a dot, a dash nor an underscore.
std::string safe_name(std::string_view text);

/// True for plain names of a directory entry: only the characters above, at most 255 of them, no dot or dash in front.
/// Such a name can't refer to anything outside its directory.
bool is_safe_name(std::string_view name);

/// A task's name for file names and tables: "mnist"; "csv-FILE" for csv:/path/FILE.csv.
std::string short_task(std::string_view task);

}  // namespace lehi::base
