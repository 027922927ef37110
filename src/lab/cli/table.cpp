#include "cli/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace lehi::cli {

void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows, Align align) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row.at(i).size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      line +=
          align == Align::left ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

// Adding 0 turns -0 into 0.
std::string short_number(double value, int digits) { return fmt::format("{:.{}g}", value + 0.0, digits); }

bool is_terminal(const std::ostream& stream) {
  return (&stream == &std::cout && isatty(STDOUT_FILENO) != 0) || (&stream == &std::cerr && isatty(STDERR_FILENO) != 0);
}

}  // namespace lehi::cli
