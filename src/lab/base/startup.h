// How the program starts: LibTorch's threads, OpenBLAS's kernel, the allocator. The library does none of this by
// itself.
//
// Debian's LibTorch starts with one thread, and its OpenBLAS may not know a recent CPU and fall back to a kernel
// several times slower. OpenBLAS reads OPENBLAS_CORETYPE when it loads, so only starting the program again corrects
// that. Deciding is apart from doing, so that tests can pretend to be another machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lehi/runtime.h"

namespace lehi::base {

/// For the first line of main(): uses all cores (unless OMP_NUM_THREADS is set), keeps freed memory, and, where
/// OpenBLAS runs an unfit kernel, starts the program again with a better one. Returns warnings for the user, one
/// sentence each.
std::vector<std::string> prepare(int argc, char** argv);

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
KernelPlan plan_kernel(const runtime::Host& host, const KernelSettings& settings);

/// The settings of this process.
KernelSettings kernel_settings();

/// Replaces this process by the same program with OPENBLAS_CORETYPE set; returns only when that failed.
void start_again(char** argv, const std::string& core_type);

/// Set to the kernel's name in the environment of a program that prepare() started again, so that it happens once at
/// most.
inline constexpr const char* restarted_variable = "LEHI_RESTARTED";

}  // namespace lehi::base
