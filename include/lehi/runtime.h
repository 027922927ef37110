// What the machine gives, and the one call that makes LibTorch use it.
//
// Debian's LibTorch starts with one thread, and its OpenBLAS may not know a recent CPU and fall back to a kernel
// several times slower. OpenBLAS reads OPENBLAS_CORETYPE when it loads, so a wrong kernel can only be corrected by
// starting the program again: prepare() does that once, before main() has done anything else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// For the first line of main(): sets LibTorch's threads to the usable cores (unless OMP_NUM_THREADS is set), and,
/// where OpenBLAS runs an unfit kernel, starts the program again with the right one. Returns warnings that the user
/// should see, one sentence each; empty when all is well.
std::vector<std::string> prepare(int argc, char** argv);

/// Bytes of memory that this process holds now, and at most held so far.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace lehi::runtime
