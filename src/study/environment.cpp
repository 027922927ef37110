#include "study/environment.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lehi::study {
namespace {

// Whole families where a launcher has one: which of its variables a program reads may change.
constexpr std::array<std::string_view, 6> kRankFamilies = {"SLURM_", "OMPI_", "PMIX_",
                                                           "PMI_",   "PRTE_", "TORCHELASTIC_"};
constexpr std::array<std::string_view, 10> kRankVariables = {
    "RANK",      "WORLD_SIZE",      "LOCAL_RANK",  "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

bool makes_a_rank(std::string_view entry) {
  const auto name = entry.substr(0, entry.find('='));
  return std::any_of(kRankFamilies.begin(), kRankFamilies.end(),
                     [&](auto family) { return name.starts_with(family); }) ||
         std::find(kRankVariables.begin(), kRankVariables.end(), name) != kRankVariables.end();
}

}  // namespace

std::vector<std::string> whole_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::vector<std::string> environment_without_ranks() {
  auto entries = whole_environment();
  std::erase_if(entries, makes_a_rank);
  return entries;
}

std::string rank_variables_expression() {
  return fmt::format("({})[A-Za-z0-9_]*|{}", fmt::join(kRankFamilies, "|"), fmt::join(kRankVariables, "|"));
}

}  // namespace lehi::study
