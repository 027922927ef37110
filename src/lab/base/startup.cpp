#include "base/startup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "runtime/blas.h"

namespace lehi::base {
namespace {

// A training step frees and allocates the same megabytes again and again. By default glibc returns freed memory at the
// top of the heap to the kernel, which must clear every page again (measured: 2,400 page faults a step with three 12 MB
// temporaries, 90 with this). 32 MiB is the largest threshold that glibc accepts; larger tensors remain mappings of
// their own.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace

KernelPlan plan_kernel(const runtime::Host& host, const KernelSettings& settings) {
  KernelPlan plan;
  const auto better = runtime::better_blas_kernel(host);
  const auto core_type = settings.core_type.value_or("");
  if (host.blas == "reference") {
    plan.warning =
        "LibTorch uses the reference BLAS, which is many times slower than this CPU allows: install "
        "libopenblas0-openmp (Debian), which replaces it.";
  } else if (!better.empty() && settings.restarted) {
    plan.warning = fmt::format(
        "OpenBLAS runs its {} kernel on this {} CPU although OPENBLAS_CORETYPE={}: install a build that has that "
        "kernel, such as Debian's libopenblas0-openmp.",
        host.blas_kernel, host.vector_units, core_type);
  } else if (!better.empty() && settings.core_type) {
    plan.warning = fmt::format(
        "OPENBLAS_CORETYPE={} makes OpenBLAS run its {} kernel, much slower than this {} CPU allows: unset "
        "it, or set it to {}.",
        core_type, host.blas_kernel, host.vector_units, better);
  } else if (!better.empty()) {
    plan.restart_with = better;
    plan.warning = fmt::format(
        "OpenBLAS runs its {} kernel, much slower than this {} CPU allows, and the program could not "
        "restart itself: set OPENBLAS_CORETYPE={} before starting it.",
        host.blas_kernel, host.vector_units, better);
  } else if (settings.core_type && runtime::kernel_exceeds_cpu(host)) {
    plan.warning = fmt::format(
        "OPENBLAS_CORETYPE={} makes OpenBLAS run its {} kernel, whose instructions this {} CPU does not have: unset "
        "it, or the program may stop with an illegal instruction.",
        core_type, host.blas_kernel, host.vector_units);
  }
  return plan;
}

KernelSettings kernel_settings() {
  KernelSettings settings;
  if (const char* core_type = std::getenv("OPENBLAS_CORETYPE")) settings.core_type = core_type;
  // Children of a restarted program inherit both variables, but their OPENBLAS_CORETYPE may be the user's choice.
  const char* chosen = std::getenv(restarted_variable);
  settings.restarted = chosen != nullptr && settings.core_type == chosen;
  return settings;
}

void restart_program(char** argv, const std::string& core_type) {
  setenv("OPENBLAS_CORETYPE", core_type.c_str(), 1);
  setenv(restarted_variable, core_type.c_str(), 1);
  execv("/proc/self/exe", argv);
  unsetenv("OPENBLAS_CORETYPE");  // so that a child process can try
  unsetenv(restarted_variable);
}

std::vector<std::string> prepare(int argc, char** argv) {
  const auto host = runtime::describe_host();
  const auto plan = plan_kernel(host, kernel_settings());
  if (!plan.restart_with.empty() && argc > 0 && argv != nullptr) restart_program(argv, plan.restart_with);
  keep_freed_memory();
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    runtime::set_threads(host.cores);
  }
  if (plan.warning.empty()) return {};
  return {plan.warning};
}

}  // namespace lehi::base
