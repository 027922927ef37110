// Buffers are reused and graphs are freed: 10,000 steps hold no more memory than 1,000.
#include "support/memory.h"

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

// A step that kept its graph, or one buffer, would hold at least 1 KiB a step: 9 MiB over the steps between. The
// allocator's own movements are far below 2 MiB.
constexpr std::int64_t kAllowedGrowth = 2 << 20;

TEST(Memory, TenThousandStepsHoldNoMoreThanOneThousand) {
  if (kAddressSanitizer) GTEST_SKIP() << "the address sanitizer holds on to freed memory";
  const auto problem = make_problem("network", torch::kFloat32);
  const auto weights = fresh(problem.start);
  const auto others = fresh(problem.start);
  Lehi lehi(weights, LehiOptions(1e-3).diagnostics(true));
  LehiGn lehi_gn(others, LehiGnOptions(1e-3).refresh_every(10, 20));
  std::int64_t after_thousand = 0;
  for (std::int64_t step = 1; step <= 10'000; ++step) {
    take_step(lehi, problem, weights, step);
    lehi_gn.accumulate(problem.predict(others, step), *problem.loss, problem.targets(step));
    lehi_gn.step();
    if (step == 1'000) after_thousand = runtime::resident_bytes();
  }
  ASSERT_GT(after_thousand, 0);
  EXPECT_LT(runtime::resident_bytes() - after_thousand, kAllowedGrowth);
}

}  // namespace
}  // namespace lehi::testing
