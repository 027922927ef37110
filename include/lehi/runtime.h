// What the machine gives: cores, memory, BLAS.
//
// Debian's LibTorch starts with one thread, and its OpenBLAS may choose a kernel several times slower than the CPU
// allows. A program that wants all cores calls
//
//   lehi::runtime::set_threads(lehi::runtime::describe_host().cores);
//
// OpenBLAS reads OPENBLAS_CORETYPE when it loads: set it before the program starts, to what better_blas_kernel() says.
#pragma once

#include <cstdint>
#include <string>

namespace lehi::runtime {

struct Host {
  std::string cpu;                ///< model name
  std::string vendor;             ///< "intel", "amd" or "other"
  std::string vector_units;       ///< "avx512", "avx2" or "baseline"
  int cores = 1;                  ///< that this process may use: affinity mask and cgroup quota
  std::int64_t memory_bytes = 0;  ///< physical, or the cgroup's limit
  std::string blas;               ///< "openblas", "reference", "mkl" or "unknown"
  std::string blas_kernel;        ///< OpenBLAS's core name ("Zen", "SkylakeX", "Prescott", ...) or ""
  std::string torch_version;
  int torch_threads = 1;
};

Host describe_host();

/// The OPENBLAS_CORETYPE that fits this CPU, or "" when the loaded kernel already does (or OpenBLAS is not the BLAS).
std::string better_blas_kernel(const Host& host);

/// LibTorch's threads and, where it has its own, OpenBLAS's. The library never calls this by itself.
void set_threads(int threads);

/// Bytes of memory that this process holds now, and at most held so far.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace lehi::runtime
