// Lists on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::base {

/// Splits "a,b[c=1,d=2],e" at the commas outside brackets. Throws std::invalid_argument, naming `option`, for an empty
/// entry or an unmatched bracket.
std::vector<std::string> split_list(std::string_view option, std::string_view list);

}  // namespace lehi::base
