// lehi/runtime.h: asks the machine, and does what plan_kernel() decided.
#include "lehi/runtime.h"

#include <ATen/Parallel.h>
#include <sched.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/blas.h"
#include "runtime/limits.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace lehi::runtime {
namespace {

constexpr const char* cgroup_root = "/sys/fs/cgroup";

int cores_in_affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more than 1,024 processors
}

// A training step frees and asks again for the same megabytes. By default glibc hands freed memory at the top of the
// heap back to the kernel, which must clear every page again (measured: 2,400 page faults a step with three 12 MB
// temporaries, 90 with this). 32 MiB is the largest threshold that glibc accepts; larger tensors remain mappings of
// their own.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace

Host describe_host() {
  const auto cpu = cpu_from_cpuinfo(read_text("/proc/cpuinfo"));
  const auto membership = read_text("/proc/self/cgroup");
  Host host;
  host.cpu = cpu.model;
  host.vendor = cpu.vendor;
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

std::vector<std::string> prepare(int argc, char** argv) {
  const auto host = describe_host();
  const auto plan = plan_kernel(host, kernel_settings());
  if (!plan.restart_with.empty() && argc > 0 && argv != nullptr) start_again(argv, plan.restart_with);
  keep_freed_memory();
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    at::set_num_threads(host.cores);
    set_blas_threads(host.cores);
  }
  if (plan.warning.empty()) return {};
  return {plan.warning};
}

std::int64_t resident_bytes() { return bytes_of_field(read_text("/proc/self/status"), "VmRSS"); }
std::int64_t peak_resident_bytes() { return bytes_of_field(read_text("/proc/self/status"), "VmHWM"); }

}  // namespace lehi::runtime
