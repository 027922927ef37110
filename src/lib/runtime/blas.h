// The loaded BLAS, and the kernel that OpenBLAS selected. How the program replaces an unsuitable one is in
// lab/base/startup.h.
#pragma once

#include <string>
#include <string_view>

#include "lehi/runtime.h"

namespace lehi::runtime {

/// "openblas", "reference", "mkl" or "unknown", from the path of the library that defines sgemm_, with links resolved.
std::string blas_from_path(std::string_view file);

struct Cpu {
  std::string model;
  std::string vendor;  ///< "intel", "amd" or "other"
  int family = 0;      ///< as /proc/cpuinfo numbers them; 0: not stated
  /// "avx512" (F, BW, DQ, VL and CD, which OpenBLAS's kernels use), "avx2" (with FMA) or "baseline"
  std::string vector_units;
};
Cpu cpu_from_cpuinfo(std::string_view cpuinfo);

/// The loaded BLAS as in blas_from_path(), or the one that LibTorch contains; OpenBLAS's core name, or "".
std::string loaded_blas();
std::string loaded_blas_kernel();

/// Sets OpenBLAS's thread count, if OpenBLAS is loaded and has one of its own.
void set_blas_threads(int threads);

/// While it exists, MKL uses one thread for what this thread asks of it. In a parallel loop MKL would divide a QR
/// decomposition as for all threads, and so round differently; OpenBLAS sees the loop.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
  OneBlasThread(OneBlasThread&&) = delete;
  OneBlasThread& operator=(OneBlasThread&&) = delete;

 private:
  int before_;
};

/// OpenBLAS's or MKL's number of threads; 0 where the BLAS does not state it.
int blas_threads();

/// True when OpenBLAS's kernel uses instructions that this CPU does not have.
bool kernel_exceeds_cpu(const Host& host);

}  // namespace lehi::runtime
