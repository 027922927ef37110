// What the kernel lets this process use, read from text files: the parsing is apart from the reading, so that tests can
// pretend to be another machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::runtime {

/// A file's text; empty when it can't be read.
std::string read_text(const std::filesystem::path& file);

/// Processors' worth of time from cgroup v2's cpu.max, "quota period" or "max period"; nothing when unlimited.
std::optional<double> cpu_quota_v2(std::string_view cpu_max);

/// The same from cgroup v1's cpu.cfs_quota_us (negative: unlimited) and cpu.cfs_period_us.
std::optional<double> cpu_quota_v1(std::string_view quota, std::string_view period);

/// Bytes from memory.max (v2) or memory.limit_in_bytes (v1); nothing for "max" and for v1's "as much as fits".
std::optional<std::int64_t> memory_limit(std::string_view text);

/// The directories under `root` whose files limit this process's `controller`: its own group and all groups around it,
/// in version 2 and, for the controller's hierarchy, in version 1. `membership` is the text of /proc/self/cgroup.
std::vector<std::filesystem::path> cgroup_directories(std::string_view membership, std::string_view controller,
                                                      const std::filesystem::path& root);

/// The tightest limit of all groups around the process.
std::optional<double> cgroup_cpu_quota(std::string_view membership, const std::filesystem::path& root);
std::optional<std::int64_t> cgroup_memory_limit(std::string_view membership, const std::filesystem::path& root);

/// Threads worth starting: a fraction of a core rounds up, since a thread too few wastes more than one too many.
int usable_cores(int in_affinity_mask, std::optional<double> quota);

/// The bytes of "VmRSS:  1234 kB" and the like in /proc/self/status or /proc/meminfo; 0 when the field is missing.
std::int64_t bytes_of_field(std::string_view text, std::string_view field);

}  // namespace lehi::runtime
