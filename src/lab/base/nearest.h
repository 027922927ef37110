// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::base {

/// The known name with the smallest edit distance to `wrong`, or "" when all differ in more than half of its letters.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& known);

/// " (did you mean 'x'?)" for the middle of a sentence, or "" when no known name is near.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace lehi::base
