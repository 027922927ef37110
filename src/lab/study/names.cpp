#include "study/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/names.h"

namespace lehi::study {

std::string directory_name(std::string_view task, std::string_view variant, double lr, std::uint64_t seed) {
  return fmt::format("{}-{}-lr{}-seed{}", base::short_task(task), base::safe_name(variant), lr, seed);
}

std::string run_label(std::string_view task, std::string_view variant, double lr, std::uint64_t seed) {
  return fmt::format("{} {} lr {} seed {}", base::short_task(task), variant, lr, seed);
}

std::string unique_name(const std::string& wanted, std::set<std::string>& taken) {
  // Two variants may have the same safe name ("a b" and "a_b"), and some file systems ignore case.
  const auto lower_case = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  std::string name = wanted;
  for (int i = 2; !taken.insert(lower_case(name)).second; ++i) name = fmt::format("{}-{}", wanted, i);
  return name;
}

}  // namespace lehi::study
