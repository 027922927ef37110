#include "base/names.h"

#include <algorithm>
#include <filesystem>

namespace lehi::base {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == '+';
}

}  // namespace

std::string safe_name(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string name;
  for (const char c : text) {
    if (is_plain(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  name.erase(0, name.find_first_not_of(".-_"));
  if (name.size() > longest) name.resize(longest);
  name.erase(name.find_last_not_of(".-_") + 1);
  return name.empty() ? "x" : name;
}

bool is_safe_name(std::string_view name) {
  constexpr std::size_t longest = 255;  // of a file name on Linux
  return !name.empty() && name.size() <= longest && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

std::string short_task(std::string_view task) {
  const auto colon = task.find(':');
  if (colon == std::string_view::npos) return safe_name(task);
  const auto stem = std::filesystem::path(task.substr(colon + 1)).stem().string();
  return safe_name(task.substr(0, colon)) + "-" + safe_name(stem);
}

}  // namespace lehi::base
