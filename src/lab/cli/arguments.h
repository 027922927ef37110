// Parsing helpers for every subcommand's parse(): CLI11 with this program's error type, numbers and lists.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

/// Thrown by parse() for --help; what() is the text to print.
class HelpRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses into the variables bound to `app`. Throws HelpRequest for --help and UsageError for any error.
void parse_arguments(CLI::App& app, const Arguments& arguments);

/// The pieces between commas; an empty string is one empty piece.
std::vector<std::string_view> split_at_commas(std::string_view list);

/// "1,-2.5,3e-4" as finite numbers. Throws UsageError with the option's name and the piece that is not a finite number.
std::vector<double> parse_numbers(std::string_view option, std::string_view list);

/// Validator for options whose value is a double: CLI11 would accept nan and inf.
CLI::Validator finite();

/// Throws UsageError when a directory is given twice.
void check_all_different(const std::vector<std::string>& directories);

}  // namespace lehi::cli
