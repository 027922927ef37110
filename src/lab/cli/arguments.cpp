#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace lehi::cli {
namespace {

std::optional<double> finite_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace

void parse_arguments(CLI::App& app, const Arguments& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the order CLI11 takes from
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw HelpRequest(app.help() + "\n");
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (`{} --help` shows the options)", error.what(), app.get_name()));
  }
}

std::vector<double> parse_numbers(std::string_view option, std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto piece = text.substr(begin, end - begin);
    const auto number = finite_number(piece);
    if (!number) {
      throw UsageError(fmt::format("{}: '{}' in '{}' is not a finite number; expected numbers separated by commas",
                                   option, piece, text));
    }
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

CLI::Validator finite() {
  return {[](const std::string& text) {
            return finite_number(text) ? std::string() : fmt::format("'{}' is not a finite number", text);
          },
          ""};
}

}  // namespace lehi::cli
