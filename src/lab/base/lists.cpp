#include "base/lists.h"

#include "runtime/message.h"

namespace lehi::base {

std::vector<std::string> split_list(std::string_view option, std::string_view list) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  if (depth != 0) throw_invalid_argument("{}: '{}' has an unmatched bracket", option, list);
  for (const auto& entry : entries) {
    if (entry.empty())
      throw_invalid_argument("{}: '{}' has an empty name; expected names separated by commas", option, list);
  }
  return entries;
}

}  // namespace lehi::base
