#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/numbers.h"
#include "cli/help.h"

namespace lehi::cli {
namespace {

std::optional<double> finite_number(std::string_view text) {
  const auto value = base::parse_number(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

void parse_arguments(CLI::App& app, const Arguments& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the order CLI11 expects
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw HelpRequest(help_text(app));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see `{} --help`", error.what(), app.get_name()));
  }
}

std::vector<std::string_view> split_at_commas(std::string_view list) {
  std::vector<std::string_view> pieces;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    pieces.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

std::vector<double> parse_numbers(std::string_view option, std::string_view list) {
  std::vector<double> numbers;
  for (const auto piece : split_at_commas(list)) {
    const auto number = finite_number(piece);
    if (!number) {
      throw UsageError(fmt::format("{}: '{}' in '{}' is not a finite number; expected numbers separated by commas",
                                   option, piece, list));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

CLI::Validator finite() {
  return {[](const std::string& text) {
            return finite_number(text) ? std::string() : fmt::format("'{}' is not a finite number", text);
          },
          ""};
}

void check_all_different(const std::vector<std::string>& directories) {
  std::set<std::string> seen;
  for (const auto& directory : directories) {
    if (!seen.insert(directory).second) {
      throw UsageError(fmt::format("the directory {} is given twice; leave one out", directory));
    }
  }
}

}  // namespace lehi::cli
