#include "distributed/environment.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "distributed/launch.h"

namespace lehi::distributed {
namespace {

bool is_launch_variable(std::string_view entry) {
  const auto& names = launch_variables();
  return std::find(names.begin(), names.end(), entry.substr(0, entry.find('='))) != names.end();
}

}  // namespace

std::vector<std::string> whole_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::vector<std::string> environment_without_ranks() {
  auto entries = whole_environment();
  std::erase_if(entries, is_launch_variable);
  return entries;
}

}  // namespace lehi::distributed
