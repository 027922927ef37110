// Which BLAS is loaded, and which of OpenBLAS's kernels it chose. What the program does about an unfit one is in
// lab/base/startup.h.
#pragma once

#include <string>
#include <string_view>

#include "lehi/runtime.h"

namespace lehi::runtime {

/// "openblas", "reference", "mkl" or "unknown", from the file that the process's sgemm_ lives in, links resolved.
std::string blas_from_path(std::string_view file);

struct Cpu {
  std::string model;
  std::string vendor;  ///< "intel", "amd" or "other"
  std::string
      vector_units;  ///< "avx512" (F, BW, DQ, VL and CD, which OpenBLAS's kernels use), "avx2" (with FMA) or "baseline"
};
Cpu cpu_from_cpuinfo(std::string_view cpuinfo);

/// The loaded BLAS and OpenBLAS's core name, or "".
std::string loaded_blas();
std::string loaded_blas_kernel();

/// OpenBLAS's own thread count, where it has one apart from OpenMP's.
void set_blas_threads(int threads);

/// True when OpenBLAS's kernel uses instructions that this CPU lacks.
bool kernel_exceeds_cpu(const Host& host);

}  // namespace lehi::runtime
