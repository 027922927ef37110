// Layers on extreme entries: a NaN in the input gives NaN where the formula does, what is finite in the formula is
// finite, and float32 agrees with the formula in float64.
#include "support/property.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "layers/activation.h"
#include "layers/attention.h"
#include "layers/normalisation.h"
#include "layers/rotation.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

// Attention as whole matrices in float64, without dropout.
Tensor attention_formula(const layers::AttentionShape& s, const layers::AttentionInputs& in) {
  const auto heads = [&](const Tensor& x, std::int64_t count) {
    return x.to(torch::kFloat64)
        .reshape({s.rows, s.tokens, count, s.width})
        .transpose(1, 2)
        .repeat_interleave(s.heads / count, 1);
  };
  const Tensor scores = heads(in.queries, s.heads).matmul(heads(in.keys, s.groups).transpose(2, 3)) /
                        std::sqrt(static_cast<double>(s.width));
  const Tensor allowed = torch::ones({s.tokens, s.tokens}, torch::kBool).tril();
  const Tensor weights = torch::softmax(scores.masked_fill(~allowed, -HUGE_VAL), 3);
  // A NaN value must not reach earlier queries; as 0 times NaN it would.
  const Tensor values = heads(in.values, s.groups).unsqueeze(2).expand({s.rows, s.heads, s.tokens, s.tokens, s.width});
  const Tensor seen = values.masked_fill(~allowed.view({1, 1, s.tokens, s.tokens, 1}), 0.0);
  return (weights.unsqueeze(4) * seen).sum(3).transpose(1, 2).reshape({s.rows * s.tokens, s.heads * s.width});
}

layers::AttentionShape draw_attention() {
  layers::AttentionShape shape;
  shape.rows = draw("rows", 1, 2);
  shape.groups = draw("groups", 1, 2);
  shape.heads = shape.groups * draw("heads a group", 1, 2);
  shape.tokens = draw_one<std::int64_t>("tokens", {1, 2, 7, 17, 65, 130});
  shape.width = draw("width", 1, 9);
  return shape;
}

std::string attention_nan_property() {
  const auto shape = draw_attention();
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat32, torch::kFloat64});
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const std::int64_t all = shape.rows * shape.tokens;
  layers::AttentionInputs inputs = {torch::randn({all, shape.heads * shape.width}, dtype),
                                    torch::randn({all, shape.groups * shape.width}, dtype),
                                    torch::randn({all, shape.groups * shape.width}, dtype)};
  const std::vector<Tensor> parts = {inputs.queries, inputs.keys, inputs.values};
  const auto which = static_cast<std::size_t>(draw("query, key or value", 0, 2));
  // NaNs with any sign and payload: code must not take those bits for an exponent.
  const std::uint32_t payload = static_cast<std::uint32_t>(draw("payload", 0, (1 << 22) - 1));
  const std::uint32_t sign = draw("sign", 0, 1) == 1 ? 0x80000000U : 0U;
  const double bad = draw("infinite", 0, 3) == 3 ? HUGE_VAL : std::bit_cast<float>(0x7fc00000U | payload | sign);
  parts[which].view({-1})[draw("place", 0, parts[which].numel() - 1)] = bad;
  const auto got = layers::attend(shape, inputs, {});
  const Tensor expected = attention_formula(shape, inputs);
  // Above the diagonal, 0 times an infinite value may add NaNs: at least the formula's are required, and none in
  // another row.
  const Tensor missed = ~torch::isfinite(expected) & torch::isfinite(got.values);
  if (missed.any().item<bool>())
    return fmt::format("{} results are finite that should not be", missed.sum().item<int>());
  const Tensor reached = ~torch::isfinite(got.values).view({shape.rows, -1}).all(1);
  if (reached.sum().item<std::int64_t>() > 1) return "a NaN reaches another row";

  const Tensor cotangents = torch::ones({all, shape.heads * shape.width}, dtype);
  const layers::AttentionInputs back = {torch::zeros_like(inputs.queries), torch::zeros_like(inputs.keys),
                                        torch::zeros_like(inputs.values)};
  layers::pull_back_attend(shape, inputs, got.log_normaliser, {}, cotangents, back);
  const bool seen = !torch::isfinite(back.queries).all().item<bool>() ||
                    !torch::isfinite(back.keys).all().item<bool>() || !torch::isfinite(back.values).all().item<bool>();
  return seen ? "" : "the cotangents are finite in spite of a NaN";
}

TEST(LayerProperties, ANanInAttentionIsANanInItsResult) { expect_always(150, attention_nan_property); }

std::string attention_size_property() {
  const auto shape = draw_attention();
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const std::int64_t all = shape.rows * shape.tokens;
  const auto kind = draw_one("entries", std::vector{Entries::normal, Entries::zeros, Entries::ties, Entries::wide,
                                                    Entries::steep, Entries::subnormal, Entries::tiny});
  const auto values = [&](std::int64_t heads, torch::Dtype dtype) {
    return random_entries(kind, {all, heads * shape.width}, dtype, 1.0);
  };
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    const layers::AttentionInputs inputs = {values(shape.heads, dtype), values(shape.groups, dtype),
                                            values(shape.groups, dtype)};
    const auto got = layers::attend(shape, inputs, {});
    if (!torch::isfinite(got.values).all().item<bool>()) return "a result is not finite";
    // Scores are rounded relative to their largest terms; the exponential turns that into a relative error.
    const double scores = inputs.queries.abs().max().item<double>() * inputs.keys.abs().max().item<double>() *
                          std::sqrt(static_cast<double>(shape.width));
    const double unit = dtype == torch::kFloat64 ? 1e-15 : 5e-7;
    const double allowed = 4 * unit * (1.0 + scores) * inputs.values.abs().max().item<double>();
    const double difference =
        (got.values.to(torch::kFloat64) - attention_formula(shape, inputs)).abs().max().item<double>();
    const double span =
        2.0 * inputs.values.abs().max().item<double>();  // the largest difference of two means of the values
    if (difference > std::min(allowed, span) + 1e-44)
      return fmt::format("differs by {}, allowed {}", difference, allowed);
  }
  return "";
}

TEST(LayerProperties, AttentionIsItsFormulaWhateverTheSizes) { expect_always(100, attention_size_property); }

// gelu(x, "tanh") and its slope in long double.
std::pair<long double, long double> gelu_formula(long double x) {
  const long double root = std::sqrt(2 / std::acos(-1.0L));
  const long double cubic = 0.044715L;
  const long double t = 2 * root * (x + cubic * x * x * x);
  const long double s = t < 0 ? std::exp(t) / (1 + std::exp(t)) : 1 / (1 + std::exp(-t));
  const long double other = t < 0 ? 1 / (1 + std::exp(t)) : std::exp(-t) / (1 + std::exp(-t));
  const long double product = s * other;
  return {x * s, s + (product == 0 ? 0 : x * product * 2 * root * (1 + 3 * cubic * x * x))};
}

template <class T>
std::string activation_property_of(torch::Dtype dtype) {
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const auto kind = draw_one("entries", all_entries);
  const Tensor x = random_entries(kind, {23}, dtype, std::numeric_limits<T>::max());
  Tensor slope = x.clone();
  const Tensor y = layers::gelu_and_slope(slope);
  const T unit = std::numeric_limits<T>::epsilon();
  for (std::int64_t i = 0; i < 23; ++i) {
    const T at = x.data_ptr<T>()[i];
    const auto [value, derivative] = gelu_formula(static_cast<long double>(at));
    // Where s is the exponential of a large negative number, its relative error is large but the result is near 0.
    const long double allowed = 50 * unit * (std::abs(value) + 1e-3L);
    if (!(std::abs(y.data_ptr<T>()[i] - value) <= allowed)) {
      return fmt::format("gelu({}) is {}, expected {}", at, y.data_ptr<T>()[i], static_cast<double>(value));
    }
    if (!(std::abs(slope.data_ptr<T>()[i] - derivative) <= 50 * unit)) {
      return fmt::format("gelu'({}) is {}, expected {}", at, slope.data_ptr<T>()[i], static_cast<double>(derivative));
    }
  }
  Tensor gate = x.clone();
  Tensor up = torch::ones_like(x);
  const Tensor gated = layers::gated_silu_and_slopes(gate, up);
  for (const Tensor& result : {gated, gate, up}) {
    if (!torch::isfinite(result).all().item<bool>()) return "the gated unit is not finite";
  }
  Tensor broken = torch::full({1}, std::nan(""), dtype);
  const Tensor broken_gelu = layers::gelu_and_slope(broken);
  if (!broken_gelu.isnan().item<bool>() || !broken.isnan().item<bool>()) return "gelu hides a NaN";
  Tensor broken_gate = torch::full({1}, std::nan(""), dtype);
  Tensor one = torch::ones({1}, dtype);
  const Tensor broken_unit = layers::gated_silu_and_slopes(broken_gate, one);
  if (!broken_unit.isnan().item<bool>() || !broken_gate.isnan().item<bool>()) return "the gated unit hides a NaN";
  return "";
}

TEST(LayerProperties, ActivationsAreFiniteWhereTheirFormulasAre) {
  expect_always(100, [] { return activation_property_of<float>(torch::kFloat32); });
  expect_always(100, [] { return activation_property_of<double>(torch::kFloat64); });
}

// Rows of any finite entries, also of those whose squares overflow.
std::string norm_property() {
  const std::int64_t rows = draw("rows", 1, 5);
  const std::int64_t width = draw("width", 1, 70);
  const bool centred = draw("centred", 0, 1) == 1;
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const auto kind = draw_one("entries", all_entries);
  const Tensor x = random_entries(kind, {rows, width}, torch::kFloat32, 1e38);
  const Tensor weight = torch::randn({width});
  const Tensor bias = centred ? torch::randn({width}) : Tensor();
  const auto got = layers::normalise(x, weight, bias, 1e-5);
  const Tensor wide = x.to(torch::kFloat64);
  const Tensor about = centred ? wide - wide.mean(1, true) : wide;
  const Tensor r = torch::rsqrt(about.square().mean(1, true) + 1e-5);
  Tensor expected = about * r * weight.to(torch::kFloat64);
  if (centred) expected = expected + bias.to(torch::kFloat64);
  // The mean is rounded relative to the largest entry, which affects every entry; r may be subnormal.
  const Tensor allowed = 2e-5 * (1.0 + (wide.abs().amax(1, true) * r) * weight.abs().to(torch::kFloat64));
  if (!((got.values.to(torch::kFloat64) - expected).abs() <= allowed).all().item<bool>()) {
    return fmt::format("a norm differs by {}", (got.values - expected).abs().max().item<double>());
  }
  Tensor to = torch::zeros({rows, width});
  const auto back = layers::pull_back_normalise(x, got.statistics, weight, centred, torch::randn({rows, width}), to);
  if (!torch::isfinite(to).all().item<bool>() || !torch::isfinite(back.weights[0]).all().item<bool>()) {
    return "a cotangent is not finite";
  }
  // A NaN makes its row NaN, and no other.
  Tensor broken = torch::ones({rows, width});
  const std::int64_t row = draw("row", 0, rows - 1);
  broken[row][draw("column", 0, width - 1)] = std::nan("");
  const Tensor nans = layers::normalise(broken, weight, bias, 1e-5).values.isnan();
  if (!nans[row].all().item<bool>()) return "a norm hides a NaN";
  if (nans.sum().item<std::int64_t>() != width) return "a NaN reaches another row";
  return "";
}

TEST(LayerProperties, NormsAreTheirFormulasWhateverTheSizes) { expect_always(200, norm_property); }

// A rotation keeps the length of each pair, and the inverse rotation restores the values.
std::string rotation_property() {
  const std::int64_t tokens = draw("tokens", 1, 40);
  const std::int64_t half = draw("half", 1, 5);
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat32, torch::kFloat64});
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < half; ++i)
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half)));
  layers::RotationTable table(frequencies);
  const Tensor x = random_entries(draw_one("entries", tame_entries), {tokens, 2 * half}, dtype, 1.0);
  Tensor rotated = x.clone();
  layers::rotate(rotated, table.angles(tokens, dtype), tokens, layers::Rotation::forward);
  const auto length = [&](const Tensor& values) {
    const Tensor pairs = values.to(torch::kFloat64).view({tokens, 2, half});
    return pairs.square().sum(1).sqrt();
  };
  const double unit = dtype == torch::kFloat64 ? 1e-15 : 4e-7;
  if (!((length(rotated) - length(x)).abs() <= unit * length(x)).all().item<bool>()) return "a length changed";
  layers::rotate(rotated, table.angles(tokens, dtype), tokens, layers::Rotation::backward);
  const Tensor error = (rotated - x).to(torch::kFloat64).view({tokens, 2, half}).abs().amax(1);
  return (error <= 2 * unit * length(x)).all().item<bool>() ? "" : "the inverse does not restore the values";
}

TEST(LayerProperties, RotationsKeepLengthsAndHaveInverses) { expect_always(100, rotation_property); }

}  // namespace
}  // namespace lehi::testing
