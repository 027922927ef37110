// The elementwise kernel against its plain ATen version: every formula, probe and dtype on odd sizes.
#include "ops/elementwise.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/support.h"

namespace lehi::ops {
namespace {

using kernels::ElementwiseFormula;
using kernels::ElementwiseResult;
using testing::relative_difference;
using testing::same_bits;

struct Case {
  const char* name;
  ElementwiseFormula formula;
  enum { any, unit, count, sign, bit } targets;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"mse", {kernels::SquaredError{}}, Case::any},           {"bce", {kernels::Logistic{}}, Case::unit},
      {"huber", {kernels::HuberFormula{0.7}}, Case::any},      {"log-cosh", {kernels::LogCoshFormula{}}, Case::any},
      {"poisson", {kernels::PoissonFormula{}}, Case::count},   {"hinge", {kernels::SquaredHingeFormula{}}, Case::sign},
      {"focal", {kernels::FocalFormula{1.7, 0.3}}, Case::bit},
  };
  return all;
}

torch::Tensor targets_for(const Case& c, const torch::Tensor& like) {
  const auto uniform = torch::rand_like(like);
  switch (c.targets) {
    case Case::any:
      return torch::randn_like(like);
    case Case::unit:
      return uniform;
    case Case::count:
      return torch::floor(5.0 * uniform);
    case Case::sign:
      return torch::where(uniform < 0.5, -torch::ones_like(like), torch::ones_like(like));
    case Case::bit:
      return (uniform < 0.5).to(like.dtype());
  }
  throw std::logic_error("unknown targets");
}

bool exists(const Case& c, Probe probe) {
  return std::visit(
      [probe](const auto& f) {
        if (probe == Probe::gauss_newton) return f.convex;
        return probe != Probe::sampled_label || f.has_labels;
      },
      c.formula.formula);
}

struct ElementwiseOutput {
  ElementwiseResult result;
  torch::Tensor gradient, probe;
};

ElementwiseOutput run(const Case& c, const ElementwiseTask& task, bool plain) {
  ElementwiseOutput r;
  r.gradient = torch::full_like(task.predictions, 77.0);
  r.probe = torch::full_like(task.predictions, 77.0);
  r.result = (plain ? elementwise_plain : elementwise)(c.formula, task, r.gradient, r.probe);
  return r;
}

// Both compute in float64 and round once, so float32 results may differ in the last bit; exp and log differ between
// ATen and the standard library by a few units in the last place.
TEST(ElementwiseKernel, AgreesWithThePlainVersion) {
  torch::manual_seed(1);
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    const double tolerance = dtype == torch::kFloat64 ? 1e-14 : 1e-7;
    for (const Case& c : cases()) {
      for (const Probe probe : all_probes()) {
        if (!exists(c, probe)) continue;
        for (const auto& [rows, outputs] : std::vector<std::pair<std::int64_t, std::int64_t>>{
                 {1, 1}, {7, 1}, {3, 5}, {1, 130}, {5000, 1}, {77, 131}, {2, 5003}}) {
          ElementwiseTask task;
          task.predictions = 3.0 * torch::randn({rows, outputs}, dtype);
          task.targets = targets_for(c, task.predictions);
          task.outputs = outputs;
          task.probe = probe;
          task.key = {4, 5, 6, 7};
          const ElementwiseOutput fast = run(c, task, false);
          const ElementwiseOutput plain = run(c, task, true);
          const std::string where = std::string(c.name) + " " + std::string(name(probe)) + " " + std::to_string(rows) +
                                    "x" + std::to_string(outputs);
          EXPECT_NEAR(fast.result.sum, plain.result.sum, 1e-12 * std::abs(plain.result.sum)) << where;
          EXPECT_LE(relative_difference(fast.gradient, plain.gradient), tolerance) << where;
          if (probe != Probe::gradient) {
            EXPECT_LE(relative_difference(fast.probe, plain.probe), tolerance) << where;
          }
          EXPECT_EQ(fast.result.bad_prediction, -1);
          EXPECT_EQ(fast.result.bad_target, -1);
        }
      }
    }
  }
}

TEST(ElementwiseKernel, SameBitsWhateverTheThreads) {
  torch::manual_seed(2);
  const int threads = at::get_num_threads();
  for (const Case& c : cases()) {
    ElementwiseTask task;
    task.predictions = torch::randn({30011, 3}, torch::kFloat32);
    task.targets = targets_for(c, task.predictions);
    task.outputs = 3;
    task.probe = exists(c, Probe::gauss_newton) ? Probe::gauss_newton : Probe::diagonal;
    at::set_num_threads(1);
    const ElementwiseOutput one = run(c, task, false);
    at::set_num_threads(3);
    const ElementwiseOutput three = run(c, task, false);
    EXPECT_EQ(one.result.sum, three.result.sum) << c.name;
    EXPECT_TRUE(same_bits(one.gradient, three.gradient)) << c.name;
    EXPECT_TRUE(same_bits(one.probe, three.probe)) << c.name;
  }
  at::set_num_threads(threads);
}

TEST(ElementwiseKernel, FindsTheFirstBadPredictionAndTarget) {
  torch::manual_seed(3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& c : cases()) {
    for (const bool plain : {false, true}) {
      ElementwiseTask task;
      task.predictions = torch::randn({9001, 2}, torch::kFloat64);
      task.targets = targets_for(c, task.predictions);
      task.outputs = 2;
      task.predictions.data_ptr<double>()[17000] = std::numeric_limits<double>::infinity();
      task.predictions.data_ptr<double>()[9000] = nan;
      task.targets.data_ptr<double>()[12345] = nan;
      task.targets.data_ptr<double>()[18000] = nan;
      const ElementwiseOutput r = run(c, task, plain);
      EXPECT_EQ(r.result.bad_prediction, 9000) << c.name << plain;
      EXPECT_EQ(r.result.bad_target, 12345) << c.name << plain;
    }
  }
}

}  // namespace
}  // namespace lehi::ops
