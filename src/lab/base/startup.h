// What the program sets up before it does anything else: LibTorch's threads, OpenBLAS's kernel, the allocator. The
// library does none of this.
//
// Debian's LibTorch starts with one thread, and its OpenBLAS may not recognise a recent CPU and then uses a kernel that
// is much slower. OpenBLAS reads OPENBLAS_CORETYPE when it loads, so the program must be restarted to change
// it. plan_kernel() only decides, so that tests can describe any machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lehi/runtime.h"

namespace lehi::base {

/// To call first in main(): uses all cores (unless OMP_NUM_THREADS is set), makes the allocator keep freed memory, and
/// restarts the program where OpenBLAS's kernel does not suit the CPU. Returns warnings for the user, one sentence
/// each.
std::vector<std::string> prepare(int argc, char** argv);

/// The environment variables that concern the kernel.
struct KernelSettings {
  std::optional<std::string> core_type;  ///< OPENBLAS_CORETYPE
  bool restarted = false;                ///< prepare() has set it and restarted the program
};

/// Both strings are empty where the kernel suits the CPU.
struct KernelPlan {
  std::string restart_with;  ///< the OPENBLAS_CORETYPE to restart the program with; "" for no restart
  std::string warning;       ///< for the user, if the program is not restarted or that fails
};
KernelPlan plan_kernel(const runtime::Host& host, const KernelSettings& settings);

/// Those of this process.
KernelSettings kernel_settings();

/// Restarts the program with this OPENBLAS_CORETYPE; returns only when that fails.
void restart_program(char** argv, const std::string& core_type);

/// The environment variable in which a restarted program finds the kernel's name, so that it does not restart again.
inline constexpr const char* restarted_variable = "LEHI_RESTARTED";

}  // namespace lehi::base
