// Host description (cores, memory, BLAS), threads, and memory of the process.
//
// Debian's LibTorch starts with one thread, and its OpenBLAS may select a kernel that is several times slower than the
// CPU allows. To use all cores, call
//
//   lehi::runtime::set_threads(lehi::runtime::describe_host().cores);
//
// OpenBLAS reads OPENBLAS_CORETYPE when it is loaded: set it to the value of better_blas_kernel() before the
// program starts.
#pragma once

#include <cstdint>
#include <string>

namespace lehi::runtime {

struct Host {
  std::string cpu;                ///< model name
  std::string vendor;             ///< "intel", "amd" or "other"
  int cpu_family = 0;             ///< of that vendor; 0: not known
  std::string vector_units;       ///< "avx512", "avx2" or "baseline"
  int cores = 1;                  ///< usable by this process: affinity mask and cgroup quota
  std::int64_t memory_bytes = 0;  ///< physical memory or the cgroup's limit, whichever is lower
  std::string blas;               ///< "openblas", "reference", "mkl" or "unknown"
  std::string blas_kernel;        ///< OpenBLAS's core name ("Zen", "SkylakeX", "Prescott", ...) or ""
  std::string torch_version;
  int torch_threads = 1;
};

Host describe_host();

/// The OPENBLAS_CORETYPE for this CPU; "" if the loaded kernel is suitable, or the BLAS is not OpenBLAS.
std::string better_blas_kernel(const Host& host);

/// Sets LibTorch's number of threads and, if it has its own, OpenBLAS's. The library itself never calls this.
void set_threads(int threads);

/// Resident memory of this process in bytes: now, and its maximum so far.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace lehi::runtime
