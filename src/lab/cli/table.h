// Tables and numbers for the terminal.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lehi::cli {

enum class Align : bool { left, right };

/// Prints aligned columns, two spaces apart. The first row is the header; every row must have as many cells.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows, Align align);

/// The number with up to `digits` significant digits.
std::string short_number(double value, int digits = 8);

/// True when `stream` is std::cout or std::cerr and is connected to a terminal.
bool is_terminal(const std::ostream& stream);

}  // namespace lehi::cli
