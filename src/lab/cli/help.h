// The text of a subcommand's --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lehi::cli {

/// Description, usage, arguments, options by group (the group "Options" last) and footer. The description and the
/// options' texts are wrapped; the footer is printed as it is. An option's type_name() is its placeholder; its default
/// is added to its text.
std::string help_text(const CLI::App& app);

}  // namespace lehi::cli
