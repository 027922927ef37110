// Parameters of other types and layouts: half-precision weights keep float32 state, views and transposes give the same
// results as contiguous tensors, mixed types live in one optimizer, sparse ones are refused.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

TEST(Dtype, Bfloat16WeightsKeepFloat32State) {
  for (const auto dtype : {torch::kBFloat16, torch::kFloat16}) {
    for (const auto& options : lively_presets()) {
      SCOPED_TRACE(options.name);
      const auto problem = make_problem("logistic", torch::kFloat32);
      Weights weights;
      for (const auto& start : problem.start) weights.push_back(start.to(dtype).requires_grad_(true));
      Optimizer optimizer(weights, options);
      const auto predict = [&] {
        return problem.predict({weights[0].to(torch::kFloat32), weights[1].to(torch::kFloat32)}, 1);
      };
      const double first = optimizer.step(predict(), *problem.loss, problem.targets(1));
      double last = first;
      for (int step = 0; step < 100; ++step) last = optimizer.step(predict(), *problem.loss, problem.targets(1));
      EXPECT_LT(last, first);
      for (const auto& weight : weights) {
        EXPECT_EQ(weight.dtype(), dtype);
        const auto* state = optimizer.find_state(weight);
        ASSERT_NE(state, nullptr);
        for (const auto& tensor : {state->m, state->v, state->v_max}) {
          if (tensor.defined()) {
            EXPECT_EQ(tensor.dtype(), torch::kFloat32);
          }
        }
      }
    }
  }
}

// A step of 2^-10 from 1 is an eighth of bfloat16's unit 2^-7 there, and a float16 step of 2^-13 an eighth of its unit.
// Down from 1 the units are half as large: a quarter of a unit, still below half of one.
TEST(Dtype, StepsBelowHalfAUnitMoveStochasticallyRoundedWeightsOnly) {
  constexpr std::int64_t count = 4096;
  constexpr int steps = 64;
  for (const auto& [dtype, rate] : {std::pair(torch::kBFloat16, 0x1p-10), std::pair(torch::kFloat16, 0x1p-13)}) {
    for (const auto rounding : {Rounding::stochastic, Rounding::nearest}) {
      const auto weight = torch::ones({count}, dtype).requires_grad_(true);
      Sgd optimizer(Weights{weight}, SgdOptions(rate).momentum(0.0).rounding(rounding));
      for (int step = 0; step < steps; ++step) {
        weight.mutable_grad() = torch::ones({count}, dtype);
        optimizer.step();
      }
      const double mean = weight.detach().to(torch::kFloat64).mean().item<double>();
      if (rounding == Rounding::nearest) {
        EXPECT_EQ(mean, 1.0);
        continue;
      }
      // A step's variance is at most a quarter of a squared unit, 8 rates long.
      const double deviation = 0.5 * 8 * rate * std::sqrt(static_cast<double>(steps) / count);
      EXPECT_NEAR(mean, 1.0 - steps * rate, 5 * deviation);
      EXPECT_LT(mean, 1.0 - 0.5 * steps * rate);
    }
  }
}

// LibTorch 1.13 has no float16 products on a CPU.
TEST(Dtype, WholeBfloat16NetworksTrain) {
  const auto wide = make_problem("network", torch::kFloat32);
  const auto narrow = make_problem("network", torch::kBFloat16);
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(narrow.start);
    const auto expected = fresh(wide.start);
    Optimizer optimizer(weights, options);
    Optimizer reference(expected, options);
    double first = 0.0;
    double last = 0.0;
    double reference_last = 0.0;
    for (std::int64_t step = 1; step <= 40; ++step) {
      last = take_step(optimizer, narrow, weights, step);
      reference_last = take_step(reference, wide, expected, step);
      if (step == 4) first = last;  // the same batch as step 40
    }
    EXPECT_LT(last, first);
    EXPECT_NEAR(last, reference_last, 0.1 * reference_last);
  }
}

TEST(Dtype, SixteenBitWeightsResumeWithTheSameBits) {
  const auto problem = make_problem("network", torch::kBFloat16);
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(problem.start);
    Optimizer optimizer(weights, options);
    Weights resumed;
    std::unique_ptr<Optimizer> second;
    for (std::int64_t step = 1; step <= 20; ++step) {
      take_step(optimizer, problem, weights, step);
      if (second) take_step(*second, problem, resumed, step);
      if (step == 9) {
        resumed = fresh(weights);
        second = std::make_unique<Optimizer>(resumed, options);
        second->load_named_state(optimizer.named_state());
      }
    }
    EXPECT_TRUE(same_bits(flat(resumed), flat(weights)));
  }
}

TEST(Dtype, StateHasTheTypeOfFloat32AndFloat64Weights) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    const auto problem = make_problem("logistic", dtype);
    const auto weights = fresh(problem.start);
    Lehi optimizer(weights, LehiOptions(0.01));
    take_step(optimizer, problem, weights, 1);
    EXPECT_EQ(optimizer.find_state(weights[0])->m.dtype(), dtype);
    EXPECT_EQ(optimizer.find_state(weights[0])->v.dtype(), dtype);
  }
}

// A transposed weight is not contiguous: the plain path must do what the fast one does.
TEST(Dtype, ANonContiguousWeightTakesTheSameSteps) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(problem.start);
    auto strided = fresh(problem.start);
    strided[0] = problem.start[0].t().contiguous().t().requires_grad_(true);
    ASSERT_FALSE(strided[0].is_contiguous());
    Optimizer optimizer(weights, options);
    Optimizer other(strided, options);
    for (std::int64_t step = 1; step <= 12; ++step) {
      take_step(optimizer, problem, weights, step);
      take_step(other, problem, strided, step);
    }
    const bool kronecker = options.recipe.shape == Shape::kronecker;
    EXPECT_LE(relative_difference(flat(strided), flat(weights)), kronecker ? rounding_of(options) : 1e-13);
  }
}

TEST(Dtype, Float32AndFloat64WeightsShareAnOptimizer) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  auto weights = fresh(problem.start);
  weights[1] = problem.start[1].to(torch::kFloat32).requires_grad_(true);
  const auto expected = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  Lehi reference(expected, LehiOptions(0.01));
  for (std::int64_t step = 1; step <= 20; ++step) {
    optimizer.step(problem.predict({weights[0], weights[1].to(torch::kFloat64)}, step), *problem.loss,
                   problem.targets(step));
    take_step(reference, problem, expected, step);
  }
  expect_close(weights, flat(expected), 1e-5, 20);
}

TEST(Dtype, ScalarAndEmptyWeightsAreAllowed) {
  const auto scale = torch::tensor(0.5, torch::kFloat64).requires_grad_(true);
  const auto nothing = torch::empty({0, 3}, torch::kFloat64).requires_grad_(true);
  const auto x = torch::tensor({1.0, 2.0}, torch::kFloat64);
  Lehi optimizer(Weights{scale, nothing}, LehiOptions(0.01));
  optimizer.step(scale * x + nothing.sum(), MeanSquaredError(), torch::zeros({2}, torch::kFloat64));
  EXPECT_LT(scale.item<double>(), 0.5);
  EXPECT_EQ(scale.dim(), 0);
}

}  // namespace
}  // namespace lehi::testing
