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
