// Names of a study's runs: of their directories, and as messages show them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace lehi::study {

/// "mnist-lehi-lr0.003-seed0"
std::string directory_name(std::string_view task, std::string_view variant, double lr, std::uint64_t seed);

/// "mnist lehi lr 0.003 seed 0"
std::string run_label(std::string_view task, std::string_view variant, double lr, std::uint64_t seed);

/// `wanted`, with "-2", "-3", ... appended where `taken` already has it, ignoring case. Inserts the result in `taken`.
std::string unique_name(const std::string& wanted, std::set<std::string>& taken);

}  // namespace lehi::study
