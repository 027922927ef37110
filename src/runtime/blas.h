// Which BLAS is loaded, which of OpenBLAS's kernels it chose, and what to do about an unfit one. Deciding is apart from
// doing, so that tests can pretend to be another machine.
#pragma once

#include <optional>
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

/// What the environment says about the kernel.
struct KernelSettings {
  std::optional<std::string> core_type;  ///< OPENBLAS_CORETYPE
  bool restarted = false;                ///< prepare() set it and started this program again
};

/// What to do: start the program again with this OPENBLAS_CORETYPE and, where that is not asked for or not possible,
/// tell the user this sentence. Both empty: all is well.
struct KernelPlan {
  std::string restart_with;
  std::string warning;
};
KernelPlan plan_kernel(const Host& host, const KernelSettings& settings);

/// The settings of this process.
KernelSettings kernel_settings();

/// Replaces this process by the same program with OPENBLAS_CORETYPE set; returns only when that failed.
void start_again(char** argv, const std::string& core_type);

/// Set to the kernel's name in the environment of a program that prepare() started again, so that it happens once at
/// most.
inline constexpr const char* restarted_variable = "LEHI_RESTARTED";

}  // namespace lehi::runtime
