// lehi/runtime.h: host description, threads, memory.
#include "lehi/runtime.h"

#include <ATen/Parallel.h>
#include <sched.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/blas.h"
#include "runtime/limits.h"

namespace lehi::runtime {
namespace {

constexpr const char* cgroup_root = "/sys/fs/cgroup";

int cores_in_affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more than 1,024 processors
}

}  // namespace

Host describe_host() {
  const auto cpu = cpu_from_cpuinfo(read_text("/proc/cpuinfo"));
  const auto membership = read_text("/proc/self/cgroup");
  Host host;
  host.cpu = cpu.model;
  host.vendor = cpu.vendor;
  host.cpu_family = cpu.family;
  host.vector_units = cpu.vector_units;
  host.cores = usable_cores(cores_in_affinity_mask(), cgroup_cpu_quota(membership, cgroup_root));
  host.memory_bytes = bytes_of_field(read_text("/proc/meminfo"), "MemTotal");
  if (const auto limit = cgroup_memory_limit(membership, cgroup_root)) {
    host.memory_bytes = std::min(host.memory_bytes, *limit);
  }
  host.blas = loaded_blas();
  host.blas_kernel = host.blas == "openblas" ? loaded_blas_kernel() : "";
  host.torch_version = TORCH_VERSION;
  host.torch_threads = at::get_num_threads();
  return host;
}

void set_threads(int threads) {
  at::set_num_threads(threads);
  set_blas_threads(threads);
}

std::int64_t resident_bytes() { return bytes_of_field(read_text("/proc/self/status"), "VmRSS"); }
std::int64_t peak_resident_bytes() { return bytes_of_field(read_text("/proc/self/status"), "VmHWM"); }

}  // namespace lehi::runtime
