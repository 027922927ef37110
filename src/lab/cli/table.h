// Text for people: aligned columns, and numbers short enough to compare.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lehi::cli {

enum class Align : bool { left, right };

/// The first row is the header. Columns are two spaces apart; every row must have as many cells as the header.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows, Align align);

/// Up to `digits` significant digits.
std::string short_number(double value, int digits = 8);

/// True when `stream` is this process's stdout or stderr and that is a terminal.
bool is_terminal(const std::ostream& stream);

}  // namespace lehi::cli
