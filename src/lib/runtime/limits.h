// CPU and memory limits of this process, from files in /proc and /sys. Parsing is separate from reading, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::runtime {

/// The contents of a file; empty if it cannot be read.
std::string read_text(const std::filesystem::path& file);

/// CPU quota in processors from cpu.max of cgroup v2, "quota period" or "max period"; nothing if unlimited.
std::optional<double> cpu_quota_v2(std::string_view cpu_max);

/// The same from cpu.cfs_quota_us (negative: unlimited) and cpu.cfs_period_us of cgroup v1.
std::optional<double> cpu_quota_v1(std::string_view quota, std::string_view period);

/// Bytes from memory.max (v2) or memory.limit_in_bytes (v1); nothing if unlimited ("max", or a huge number in v1).
std::optional<std::int64_t> memory_limit(std::string_view text);

/// The directories under `root` whose files limit `controller` for this process: its own cgroup and all parents, in v2
/// and, in the controller's hierarchy, in v1. `membership` is the contents of /proc/self/cgroup.
std::vector<std::filesystem::path> cgroup_directories(std::string_view membership, std::string_view controller,
                                                      const std::filesystem::path& root);

/// The lowest limit of the process's cgroup and its parents.
std::optional<double> cgroup_cpu_quota(std::string_view membership, const std::filesystem::path& root);
std::optional<std::int64_t> cgroup_memory_limit(std::string_view membership, const std::filesystem::path& root);

/// Number of threads to use. A fraction of a core is rounded up: one thread too few wastes more than one too many.
int usable_cores(int in_affinity_mask, std::optional<double> quota);

/// Bytes of a field such as "VmRSS:  1234 kB" in /proc/self/status or /proc/meminfo; 0 if the field is missing.
std::int64_t bytes_of_field(std::string_view text, std::string_view field);

}  // namespace lehi::runtime
