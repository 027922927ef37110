// Each layer and its backward pass against torch's functions and autograd, in float64 and float32.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "layers/activation.h"
#include "layers/attention.h"
#include "layers/gemm.h"
#include "layers/normalisation.h"
#include "layers/rotation.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

// Rounding of a few hundred sums, in float64 and in float32.
double tolerance(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-13 : 2e-6; }

const std::vector<torch::Dtype> both_dtypes = {torch::kFloat32, torch::kFloat64};

// Backward passes of the cotangents through torch's graph, in float64.
Tensor by_autograd(const Tensor& output, const Tensor& input, const Tensor& cotangents) {
  const std::int64_t rows = output.size(0);
  std::vector<Tensor> parts;
  for (std::int64_t c = 0; c < cotangents.size(0) / rows; ++c) {
    parts.push_back(torch::autograd::grad({output}, {input}, {cotangents.narrow(0, c * rows, rows).to(output.dtype())},
                                          /*retain_graph=*/true)[0]);
  }
  return torch::cat(parts);
}

TEST(Activation, GeluAndItsSlopeAreTorchs) {
  for (const auto dtype : both_dtypes) {
    const Tensor x = torch::linspace(-12, 12, 20001, torch::kFloat64).view({3, 6667}).requires_grad_(true);
    const Tensor expected = torch::gelu(x, "tanh");
    Tensor slope = x.detach().to(dtype, false, /*copy=*/true);
    const Tensor alone = layers::gelu(slope);
    const Tensor values = layers::gelu_and_slope(slope);
    EXPECT_TRUE(same_bits(alone, values));
    const double allowed = dtype == torch::kFloat64 ? 1e-15 : 5e-7;  // of the largest value, 12
    EXPECT_LE((values.to(torch::kFloat64) - expected).abs().max().item<double>(), 12 * allowed);
    EXPECT_LE((slope.to(torch::kFloat64) - gradient_of(expected.sum(), x)).abs().max().item<double>(), 12 * allowed);
  }
}

TEST(Activation, GatedSiluAndItsSlopesAreTorchs) {
  torch::manual_seed(1);
  for (const auto dtype : both_dtypes) {
    const Tensor gate = (4 * torch::randn({17, 35}, torch::kFloat64)).requires_grad_(true);
    const Tensor up = torch::randn({17, 35}, torch::kFloat64).requires_grad_(true);
    const Tensor expected = torch::silu(gate) * up;
    Tensor gate_slope = gate.detach().to(dtype, false, /*copy=*/true);
    Tensor up_slope = up.detach().to(dtype, false, /*copy=*/true);
    const Tensor alone = layers::gated_silu(gate_slope, up_slope);
    const Tensor values = layers::gated_silu_and_slopes(gate_slope, up_slope);
    EXPECT_TRUE(same_bits(alone, values));
    EXPECT_LE(relative_difference(values, expected), tolerance(dtype));
    EXPECT_LE(relative_difference(gate_slope, gradient_of(expected.sum(), gate)), tolerance(dtype));
    EXPECT_LE(relative_difference(up_slope, gradient_of(expected.sum(), up)), tolerance(dtype));
  }
}

TEST(Activation, ASlopeMultipliesEveryCotangent) {
  const Tensor slope = torch::randn({5, 7});
  const Tensor cotangents = torch::randn({15, 7});
  const Tensor expected = cotangents * slope.repeat({3, 1});
  EXPECT_TRUE(torch::equal(layers::times_slope(cotangents, slope), expected));
  Tensor changed = cotangents.clone();
  layers::multiply_by_slope(changed, slope);
  EXPECT_TRUE(torch::equal(changed, expected));
}

TEST(Normalisation, ValuesAndBackwardPassesAreTorchs) {
  torch::manual_seed(2);
  constexpr std::int64_t rows = 70;  // three chunks, the last one short
  for (const auto dtype : both_dtypes) {
    for (const std::int64_t width : {5, 16, 51}) {
      for (const bool centred : {true, false}) {
        const auto options = torch::TensorOptions(torch::kFloat64);
        const Tensor x = (3 + 2 * torch::randn({rows, width}, options)).requires_grad_(true);
        const Tensor weight = torch::randn({width}, options).requires_grad_(true);
        const Tensor bias = centred ? torch::randn({width}, options).requires_grad_(true) : Tensor();
        const Tensor expected = centred ? torch::layer_norm(x, {width}, weight, bias, 1e-5)
                                        : x * torch::rsqrt(x.square().mean(1, true) + 1e-5) * weight;
        const Tensor cotangents = torch::randn({2 * rows, width}, options);
        const auto own = [&](const Tensor& tensor) {
          return tensor.defined() ? tensor.detach().to(dtype, false, true) : tensor;
        };
        const auto got = layers::normalise(own(x), own(weight), own(bias), 1e-5);
        EXPECT_LE(relative_difference(got.values, expected), 10 * tolerance(dtype));
        EXPECT_TRUE(
            same_bits(layers::recompute_normalised(own(x), got.statistics, own(weight), own(bias)), got.values));
        Tensor to = torch::ones({2 * rows, width}, dtype);
        const auto gradients =
            layers::pull_back_normalise(own(x), got.statistics, own(weight), centred, own(cotangents), to);
        const double allowed = 10 * tolerance(dtype);
        EXPECT_LE(relative_difference(to - 1, by_autograd(expected, x, cotangents)), allowed) << width << centred;
        const Tensor weights = by_autograd(expected, weight, cotangents).view({2, width});
        ASSERT_EQ(gradients.weights.size(), 2U);
        for (std::int64_t c = 0; c < 2; ++c) {
          EXPECT_LE(relative_difference(gradients.weights[static_cast<std::size_t>(c)], weights[c]), allowed);
        }
        ASSERT_EQ(gradients.biases.size(), centred ? 2U : 0U);
        if (centred) {
          EXPECT_LE(relative_difference(gradients.biases[1], cotangents.narrow(0, rows, rows).sum(0)), allowed);
        }
      }
    }
  }
}

TEST(Gemm, MultipliesSubmatricesAndTheirTransposes) {
  const Tensor a = torch::randn({9, 20}, torch::kFloat64);
  const Tensor b = torch::randn({30, 11}, torch::kFloat64);
  const Tensor c = torch::ones({12, 16}, torch::kFloat64);
  // rows 2.. and columns 3.. of a (4 x 5), transposed columns of b (5 x 6), into the middle of c
  Tensor expected = c.clone();
  expected.narrow(0, 1, 4).narrow(1, 2, 6).mul_(0.5).add_(
      2 * a.narrow(0, 2, 4).narrow(1, 3, 5).mm(b.narrow(0, 10, 6).narrow(1, 4, 5).t()));
  layers::multiply_add<double>(4, 6, 5, 2.0, {a.data_ptr<double>() + 2 * 20 + 3, 20},
                               {b.data_ptr<double>() + 10 * 11 + 4, 11, true}, 0.5, c.data_ptr<double>() + 16 + 2, 16);
  EXPECT_LE(relative_difference(c, expected), 1e-14);  // five products, which BLAS may sum in another order
  const Tensor fresh = torch::full({5, 6}, std::nan(""), torch::kFloat64);
  layers::multiply_add<double>(5, 6, 4, 1.0, {a.data_ptr<double>(), 20, true}, {b.data_ptr<double>(), 11}, 0.0,
                               fresh.data_ptr<double>(), 6);
  EXPECT_LE(relative_difference(fresh, a.narrow(0, 0, 4).narrow(1, 0, 5).t().mm(b.narrow(0, 0, 4).narrow(1, 0, 6))),
            1e-14);
}

// Attention as a formula of whole matrices; mask: the dropout factors of the weights, [rows, heads, tokens, tokens].
Tensor plain_attention(const layers::AttentionShape& s, const layers::AttentionInputs& in, const Tensor& mask) {
  const auto heads = [&](const Tensor& x, std::int64_t count) {
    return x.view({s.rows, s.tokens, count, s.width}).transpose(1, 2).repeat_interleave(s.heads / count, 1);
  };
  const Tensor scores = heads(in.queries, s.heads).matmul(heads(in.keys, s.groups).transpose(2, 3)) /
                        std::sqrt(static_cast<double>(s.width));
  const Tensor allowed = torch::ones({s.tokens, s.tokens}, torch::kBool).tril();
  const Tensor weights = torch::softmax(scores.masked_fill(~allowed, -std::numeric_limits<double>::infinity()), 3);
  return (mask.defined() ? weights * mask : weights)
      .matmul(heads(in.values, s.groups))
      .transpose(1, 2)
      .reshape({s.rows * s.tokens, s.heads * s.width});
}

TEST(Attention, ValuesAndBackwardPassesAreTheFormulas) {
  torch::manual_seed(3);
  // One query; less than a block; two blocks and a part of one; groups.
  for (const auto& shape : {layers::AttentionShape{2, 1, 2, 2, 3}, layers::AttentionShape{2, 7, 3, 3, 5},
                            layers::AttentionShape{1, 130, 2, 2, 8}, layers::AttentionShape{2, 65, 6, 2, 4}}) {
    for (const double probability : {0.0, 0.3}) {
      for (const auto dtype : both_dtypes) {
        const std::int64_t all = shape.rows * shape.tokens;
        const auto draw = [&](std::int64_t heads) {
          return (2 * torch::randn({all, heads * shape.width}, torch::kFloat64)).requires_grad_(true);
        };
        const layers::AttentionInputs exact = {draw(shape.heads), draw(shape.groups), draw(shape.groups)};
        const layers::Dropout dropout(probability, {.seed = 4, .step = 5}, 6);
        Tensor mask = dropout.mask({shape.rows, shape.heads, shape.tokens, shape.tokens}, torch::kFloat64);
        const Tensor expected = plain_attention(shape, exact, mask);
        // Columns of one matrix, as GPT-2 has them.
        const auto side_by_side = [&](const layers::AttentionInputs& parts) {
          const Tensor whole = torch::cat({parts.queries, parts.keys, parts.values}, 1).detach().to(dtype);
          const std::int64_t q = parts.queries.size(1);
          const std::int64_t k = parts.keys.size(1);
          return layers::AttentionInputs{whole.narrow(1, 0, q), whole.narrow(1, q, k), whole.narrow(1, q + k, k)};
        };
        const auto inputs = side_by_side(exact);
        const auto got = layers::attend(shape, inputs, dropout);
        EXPECT_LE(relative_difference(got.values, expected), 2 * tolerance(dtype));

        const Tensor cotangents = torch::randn({2 * all, shape.heads * shape.width}, torch::kFloat64);
        const auto unset = [&](const Tensor& like) {
          return torch::full({2 * all, like.size(1)}, std::nan(""), torch::kFloat64);
        };
        const auto back = side_by_side({unset(exact.queries), unset(exact.keys), unset(exact.values)});
        layers::pull_back_attend(shape, inputs, got.log_normaliser, dropout, cotangents.to(dtype), back);
        const double allowed = 5 * tolerance(dtype);
        if (shape.tokens > 1) {  // with one token, queries and keys have no effect
          EXPECT_LE(relative_difference(back.queries, by_autograd(expected, exact.queries, cotangents)), allowed);
          EXPECT_LE(relative_difference(back.keys, by_autograd(expected, exact.keys, cotangents)), allowed);
        }
        EXPECT_LE(relative_difference(back.values, by_autograd(expected, exact.values, cotangents)), allowed);
      }
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const layers::AttentionShape shape = {1, 3, 1, 1, 1};
  const Tensor big = torch::tensor({{1e4F}, {-1e4F}, {1e4F}});
  const auto got = layers::attend(shape, {big, big, torch::tensor({{1.0F}, {2.0F}, {3.0F}})}, {});
  EXPECT_TRUE(torch::equal(got.values, torch::tensor({{1.0F}, {2.0F}, {2.0F}})));
}

// Attention's products have the same shapes on any number of threads, and each runs on one thread: inside of a parallel
// loop BLAS starts no threads.
TEST(Layers, BitsDoNotDependOnTheThreads) {
  const int before = at::get_num_threads();
  const layers::AttentionShape shape = {2, 65, 6, 2, 16};
  const Tensor q = torch::randn({130, 96});
  const Tensor k = torch::randn({130, 32});
  const Tensor weight = torch::randn({96});
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    const auto attended = layers::attend(shape, {q, k, k}, layers::Dropout(0.1, {.seed = 1}, 2));
    const auto normed = layers::normalise(attended.values, weight, weight, 1e-5);
    Tensor to = torch::zeros_like(q);
    const auto gradients = layers::pull_back_normalise(q, normed.statistics, weight, true, normed.values, to);
    return torch::cat({attended.values, normed.values, to, gradients.weights[0].view({1, 96})});
  };
  const Tensor one = run(1);
  for (const int threads : {2, 3}) EXPECT_TRUE(same_bits(run(threads), one)) << threads;
  at::set_num_threads(before);
}

TEST(Rotation, IsAProductOfComplexNumbersAndHasAnInverse) {
  for (const auto dtype : both_dtypes) {
    layers::RotationTable table({1.0, 0.25});
    constexpr std::int64_t tokens = 6;
    const Tensor x = torch::randn({2 * tokens, 3 * 4}, dtype);
    const Tensor heads = x.to(torch::kFloat64).view({2, tokens, 3, 2, 2});  // head, half, frequency
    const Tensor angles =
        torch::outer(torch::arange(tokens, torch::kFloat64), torch::tensor({1.0, 0.25}, torch::kFloat64));
    const Tensor product = torch::complex(heads.select(3, 0), heads.select(3, 1)) *
                           torch::polar(torch::ones_like(angles), angles).view({1, tokens, 1, 2});
    const Tensor expected = torch::stack({torch::real(product), torch::imag(product)}, 3).view({2 * tokens, 12});
    (void)table.angles(2, dtype);  // a longer table replaces it
    Tensor rotated = x.clone();
    layers::rotate(rotated, table.angles(tokens, dtype), tokens, layers::Rotation::forward);
    EXPECT_LE(relative_difference(rotated, expected), tolerance(dtype));
    layers::rotate(rotated, table.angles(tokens, dtype), tokens, layers::Rotation::backward);
    EXPECT_LE(relative_difference(rotated, x), tolerance(dtype));
  }
}

}  // namespace
}  // namespace lehi::testing
