#include "runtime/limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

namespace lehi::runtime {
namespace {

std::string_view next_word(std::string_view& text) {
  const auto begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const auto word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<std::int64_t> integer(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return value;
}

std::optional<double> quotient(std::string_view quota, std::string_view period) {
  const auto numerator = integer(quota);
  const auto denominator = integer(period);
  if (!numerator || !denominator || *numerator <= 0 || *denominator <= 0) return {};
  return static_cast<double>(*numerator) / static_cast<double>(*denominator);
}

template <class T>
void set_minimum(std::optional<T>& least, std::optional<T> candidate) {
  if (candidate && (!least || *candidate < *least)) least = candidate;
}

// True when a comma-separated list of controllers, such as "cpu,cpuacct", contains this one.
bool has_controller(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == controller) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::optional<double> cpu_quota_v2(std::string_view cpu_max) {
  const auto quota = next_word(cpu_max);
  return quotient(quota, next_word(cpu_max));
}

std::optional<double> cpu_quota_v1(std::string_view quota, std::string_view period) {
  return quotient(next_word(quota), next_word(period));
}

std::optional<std::int64_t> memory_limit(std::string_view text) {
  const auto bytes = integer(next_word(text));
  // Version 1 writes "unlimited" as the largest multiple of the page size.
  const bool unlimited = !bytes || *bytes <= 0 || *bytes > std::numeric_limits<std::int64_t>::max() / 2;
  return unlimited ? std::nullopt : bytes;
}

std::vector<std::filesystem::path> cgroup_directories(std::string_view membership, std::string_view controller,
                                                      const std::filesystem::path& root) {
  std::vector<std::filesystem::path> directories;
  while (!membership.empty()) {
    const auto line = next_line(membership);  // hierarchy:controllers:/path; no controllers in version 2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    std::filesystem::path top = root;
    if (!controllers.empty()) {
      if (!has_controller(controllers, controller)) continue;
      top /= controller;
    }
    // Inside a container this may be the host's path, of which only the top is mounted. Missing files read as empty.
    auto group = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !group.empty(); group = group.parent_path()) directories.push_back(top / group);
    directories.push_back(top);
  }
  return directories;
}

std::optional<double> cgroup_cpu_quota(std::string_view membership, const std::filesystem::path& root) {
  std::optional<double> least;
  for (const auto& directory : cgroup_directories(membership, "cpu", root)) {
    set_minimum(least, cpu_quota_v2(read_text(directory / "cpu.max")));
    set_minimum(least,
                cpu_quota_v1(read_text(directory / "cpu.cfs_quota_us"), read_text(directory / "cpu.cfs_period_us")));
  }
  return least;
}

std::optional<std::int64_t> cgroup_memory_limit(std::string_view membership, const std::filesystem::path& root) {
  std::optional<std::int64_t> least;
  for (const auto& directory : cgroup_directories(membership, "memory", root)) {
    set_minimum(least, memory_limit(read_text(directory / "memory.max")));
    set_minimum(least, memory_limit(read_text(directory / "memory.limit_in_bytes")));
  }
  return least;
}

int usable_cores(int in_affinity_mask, std::optional<double> quota) {
  const int allowed = std::max(in_affinity_mask, 1);
  if (!quota || *quota >= allowed) return allowed;
  return std::max(static_cast<int>(std::ceil(*quota)), 1);
}

std::int64_t bytes_of_field(std::string_view text, std::string_view field) {
  while (!text.empty()) {
    auto line = next_line(text);
    if (!line.starts_with(field) || line.substr(field.size(), 1) != ":") continue;
    line.remove_prefix(field.size() + 1);
    return integer(next_word(line)).value_or(0) * 1024;  // a "kB" in these files is 1,024 bytes
  }
  return 0;
}

}  // namespace lehi::runtime
