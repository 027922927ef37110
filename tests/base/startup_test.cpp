// The plan for OpenBLAS's kernel on several machines, and a real restart on this one.
#include "base/startup.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/blas.h"

namespace lehi::base {
namespace {

using ::testing::HasSubstr;

runtime::Host machine(const std::string& vendor, const std::string& vector_units, const std::string& kernel,
                      const std::string& blas = "openblas") {
  runtime::Host host;
  host.vendor = vendor;
  host.vector_units = vector_units;
  host.blas = blas;
  host.blas_kernel = kernel;
  return host;
}

TEST(PlanKernel, RestartsOnceUnlessTheUserHasChosen) {
  const auto unfit = machine("intel", "avx512", "Prescott");
  const auto first = plan_kernel(unfit, {});
  EXPECT_EQ(first.restart_with, "SkylakeX");
  EXPECT_THAT(first.warning, HasSubstr("set OPENBLAS_CORETYPE=SkylakeX before starting it"));

  const auto second = plan_kernel(unfit, {.core_type = "SkylakeX", .restarted = true});
  EXPECT_EQ(second.restart_with, "");
  EXPECT_THAT(second.warning, HasSubstr("its Prescott kernel on this avx512 CPU although OPENBLAS_CORETYPE=SkylakeX"));

  const auto corrected =
      plan_kernel(machine("intel", "avx512", "SkylakeX"), {.core_type = "SkylakeX", .restarted = true});
  EXPECT_EQ(corrected.restart_with, "");
  EXPECT_EQ(corrected.warning, "");
}

TEST(PlanKernel, KeepsTheUsersChoiceButWarnsWhenItDoesNotFit) {
  const auto slow = plan_kernel(machine("amd", "avx2", "Prescott"), {.core_type = "PRESCOTT"});
  EXPECT_EQ(slow.restart_with, "");
  EXPECT_THAT(slow.warning, HasSubstr("OPENBLAS_CORETYPE=PRESCOTT"));
  EXPECT_THAT(slow.warning, HasSubstr("unset it, or set it to Zen"));

  const auto too_new = plan_kernel(machine("amd", "avx2", "SkylakeX"), {.core_type = "SKYLAKEX"});
  EXPECT_EQ(too_new.restart_with, "");
  EXPECT_THAT(too_new.warning, HasSubstr("illegal instruction"));

  EXPECT_EQ(plan_kernel(machine("amd", "avx2", "Haswell"), {.core_type = "HASWELL"}).warning, "");
}

TEST(PlanKernel, SaysHowToReplaceTheReferenceBlas) {
  const auto plan = plan_kernel(machine("intel", "avx512", "", "reference"), {});
  EXPECT_EQ(plan.restart_with, "");
  EXPECT_THAT(plan.warning, HasSubstr("libopenblas0-openmp"));
}

TEST(PlanKernel, IsEmptyWhereTheKernelSuitsTheCpu) {
  for (const auto& host : {machine("amd", "avx2", "Zen"), machine("intel", "avx512", "", "mkl"),
                           machine("other", "baseline", "", "unknown")}) {
    const auto plan = plan_kernel(host, {});
    EXPECT_EQ(plan.restart_with, "");
    EXPECT_EQ(plan.warning, "");
  }
}

// Runs only as the restarted child of the test below.
TEST(RestartProgram, DISABLED_Child) {
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Nehalem");
  EXPECT_STREQ(std::getenv(restarted_variable), "Nehalem");
  EXPECT_EQ(runtime::loaded_blas_kernel(), "Nehalem");
}

TEST(RestartProgram, RunsTheSameProgramWithTheKernelAskedFor) {
  if (runtime::loaded_blas() != "openblas" || runtime::describe_host().vendor == "other")
    GTEST_SKIP() << "needs OpenBLAS on x86-64";
  // In a child, since the restart replaces the process. Every x86-64 CPU since 2008 runs the Nehalem kernel.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string arguments[] = {"child", "--gtest_also_run_disabled_tests",
                               "--gtest_filter=RestartProgram.DISABLED_Child"};
    char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
    restart_program(argv, "Nehalem");
    _exit(99);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Prepare, SetsLibTorchsThreadsToTheUsableCores) {
  // The tests' main() has called prepare().
  if (std::getenv("OMP_NUM_THREADS") != nullptr) GTEST_SKIP() << "OMP_NUM_THREADS is the user's choice";
  EXPECT_EQ(at::get_num_threads(), runtime::describe_host().cores);
}

}  // namespace
}  // namespace lehi::base
