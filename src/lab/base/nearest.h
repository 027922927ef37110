// What somebody who mistyped a name most probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::base {

/// The known name that `wrong` is most probably meant to be, or "" when none is near.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& known);

/// " (did you mean 'x'?)", or "" when no known name is near: for the middle of a sentence.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace lehi::base
