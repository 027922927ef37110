// What every subcommand's parse() needs: CLI11 with this program's error type, and values that CLI11 does not know.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/command.h"

namespace lehi::cli {

/// Thrown by parse() for --help; what() is the text to print.
class HelpRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses into the variables bound to `app`. Throws HelpRequest for --help and UsageError for everything wrong.
void parse_arguments(CLI::App& app, const Arguments& arguments);

/// "1,-2.5,3e-4" as finite numbers; throws UsageError naming the option and the piece that is none.
std::vector<double> parse_numbers(std::string_view option, std::string_view text);

/// For options whose value is a double: CLI11 would accept nan and inf.
CLI::Validator finite();

using lehi::nearest_name;

}  // namespace lehi::cli
