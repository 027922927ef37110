// E[S S^T] and E[S^T S] of the gauss-newton probe are the partial traces of each matrix's exact Gauss-Newton block: all
// sign vectors of a tiny network are enumerated, by drawing seeds until each has occurred, and the optimizer's own
// factors are averaged over them. The block comes from dense Jacobians and torch's loss differentiated twice.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "curvature/small_network.h"
#include "lehi/lehi.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

struct FactorCase {
  std::string name;
  std::vector<Tensor> parameters;
  std::function<Tensor()> predict;
  std::shared_ptr<const Loss> loss;
  Tensor targets;
  std::function<Tensor(const Tensor&)> value;  ///< the mean loss, torch's own
  std::size_t sign_vectors;
};

Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes, torch::kFloat64).mul(0.7).requires_grad_(true); }

FactorCase with_cross_entropy(const std::string& name, std::vector<Tensor> parameters,
                              std::function<Tensor()> predict) {
  const Tensor labels = torch::tensor({2, 0}, torch::kInt64);
  return {name,
          std::move(parameters),
          std::move(predict),
          std::make_shared<CrossEntropy>(),
          labels,
          [labels](const Tensor& p) { return torch::cross_entropy_loss(p, labels); },
          64};  // two rows of three signs
}

FactorCase two_layers() {
  torch::manual_seed(3);
  const Tensor x = torch::randn({2, 4}, torch::kFloat64);
  const Tensor first = leaf({5, 4});
  const Tensor second = leaf({3, 5});
  return with_cross_entropy("two layers", {first, second},
                            [=] { return torch::tanh(x.matmul(first.t())).matmul(second.t()); });
}

// One weight, there and back: its Jacobian is the sum of both uses.
FactorCase tied() {
  torch::manual_seed(4);
  const Tensor x = torch::randn({2, 3}, torch::kFloat64);
  const Tensor w = leaf({4, 3});
  return with_cross_entropy("a weight used twice", {w}, [=] { return torch::tanh(x.matmul(w.t())).matmul(w); });
}

FactorCase convolution() {
  torch::manual_seed(5);
  const Tensor x = torch::randn({2, 2, 3, 3}, torch::kFloat64);
  const Tensor w = leaf({3, 2, 2, 2});
  return with_cross_entropy("a convolution", {w}, [=] { return torch::tanh(torch::conv2d(x, w)).sum({2, 3}); });
}

FactorCase squared_error() {
  torch::manual_seed(6);
  const Tensor x = torch::randn({3, 4}, torch::kFloat64);
  const Tensor y = torch::randn({3, 2}, torch::kFloat64);
  const Tensor w = leaf({2, 4});
  return {"squared error",
          {w},
          [=] { return torch::tanh(x.matmul(w.t())); },
          std::make_shared<MeanSquaredError>(),
          y,
          [y](const Tensor& p) { return (p - y).square().sum() / (2.0 * 3.0); },
          64};  // three rows of two signs
}

/// The factors of one step with this seed: beta3 = 0 makes them S S^T and S^T S; lr = 0 leaves the weights alone.
std::vector<ParameterState> factors_with(const FactorCase& test, Scale scale, std::uint64_t seed) {
  LehiKron optimizer(test.parameters, LehiKronOptions(0.0)
                                          .probe(Probe::gauss_newton)
                                          .factors(FactorSource::probe)
                                          .beta3(0.0)
                                          .sides(Sides::both)
                                          .square_blocks(false)
                                          .scale(scale)
                                          .seed(seed));
  optimizer.step(test.predict(), *test.loss, test.targets);
  std::vector<ParameterState> states;
  for (const Tensor& parameter : test.parameters) states.push_back(*optimizer.find_state(parameter));
  for (ParameterState& state : states) {  // of one block
    if (state.left.defined()) state.left = state.left[0];
    if (state.right.defined()) state.right = state.right[0];
  }
  return states;
}

/// A seed for each sign vector, found by the vectors v that the loss draws with it.
std::vector<std::uint64_t> seeds_of_all_signs(const FactorCase& test) {
  std::map<std::vector<double>, std::uint64_t> seed_of;
  for (std::uint64_t seed = 0; seed < 5000 && seed_of.size() <= test.sign_vectors; ++seed) {
    const ProbeRequest request{Probe::gauss_newton, Scale::sqrt_n, {seed, 1, 0, 0}};
    const Tensor v = test.loss->evaluate(test.predict(), test.targets, request).probe.contiguous();
    seed_of.emplace(std::vector<double>(v.data_ptr<double>(), v.data_ptr<double>() + v.numel()), seed);
  }
  std::vector<std::uint64_t> seeds;
  for (const auto& entry : seed_of) seeds.push_back(entry.second);
  return seeds;
}

/// J^T H J of the mean loss for one parameter, as [m, n, m, n].
Tensor exact_block(const FactorCase& test, const Tensor& parameter) {
  const Tensor p = test.predict();
  const Tensor jacobian = dense_jacobian(p, {parameter});
  const std::int64_t rows = parameter.size(0);
  const std::int64_t columns = parameter.numel() / rows;
  return jacobian.t().matmul(dense_hessian(p, test.value)).matmul(jacobian).view({rows, columns, rows, columns});
}

void expect_partial_traces(const FactorCase& test, Scale scale) {
  SCOPED_TRACE(test.name + ", " + std::string(name(scale)));
  const auto seeds = seeds_of_all_signs(test);
  ASSERT_EQ(seeds.size(), test.sign_vectors);
  std::vector<Tensor> left(test.parameters.size());
  std::vector<Tensor> right(test.parameters.size());
  for (const auto seed : seeds) {
    const auto states = factors_with(test, scale, seed);
    for (std::size_t i = 0; i < states.size(); ++i) {
      left[i] = left[i].defined() ? left[i] + states[i].left : states[i].left;
      right[i] = right[i].defined() ? right[i] + states[i].right : states[i].right;
    }
  }
  const auto draws = static_cast<double>(seeds.size());
  const double divisor = scale == Scale::mean ? static_cast<double>(row_shape(test.predict()).rows) : 1.0;
  for (std::size_t i = 0; i < test.parameters.size(); ++i) {
    const Tensor block = exact_block(test, test.parameters[i]) / divisor;
    EXPECT_LE(relative_difference(left[i] / draws, torch::einsum("ijkj->ik", {block})), 1e-12) << "parameter " << i;
    EXPECT_LE(relative_difference(right[i] / draws, torch::einsum("ijil->jl", {block})), 1e-12) << "parameter " << i;
  }
}

TEST(Factors, AverageToThePartialTracesOfTheGaussNewtonBlock) {
  for (const auto& test : {two_layers(), tied(), convolution(), squared_error()}) {
    expect_partial_traces(test, Scale::sqrt_n);
  }
}

// With `mean` everything is divided by the rows once more.
TEST(Factors, WithMeanScaleAreThoseOverTheRows) { expect_partial_traces(two_layers(), Scale::mean); }

// The test is sharp: one draw is far from the average.
TEST(Factors, OfOneDrawAreNotTheAverage) {
  const FactorCase test = two_layers();
  const Tensor expected = torch::einsum("ijkj->ik", {exact_block(test, test.parameters[0])});
  EXPECT_GT(relative_difference(factors_with(test, Scale::sqrt_n, 1)[0].left, expected), 0.1);
}

}  // namespace
}  // namespace lehi::testing
