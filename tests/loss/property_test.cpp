// Every loss and probe on random shapes, dtypes, memory layouts and ordinary and extreme entries, against plain long
// double versions. For any entries: results are finite, rows are independent, every layout gives the same bits, and the
// ATen path agrees.
#include "support/property.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>

#include "kernels/draws.h"
#include "lehi/lehi.h"
#include "loss/plain_losses.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

struct PropertyLoss {
  std::shared_ptr<Loss> loss;
  kernels::ElementwiseFormula formula;
  PlainLoss plain;
  enum { any, unit, count, sign, bit } targets;
};

const std::vector<PropertyLoss>& elementwise_losses() {
  using L = PropertyLoss;
  static const std::vector<PropertyLoss> all = {
      {std::make_shared<MeanSquaredError>(), {kernels::SquaredError{}}, plain_squared_error, L::any},
      {std::make_shared<BinaryCrossEntropy>(), {kernels::Logistic{}}, plain_logistic, L::unit},
      {std::make_shared<Huber>(0.8),
       {kernels::HuberFormula{0.8}},
       [](Real p, Real y) { return plain_huber(p, y, static_cast<Real>(0.8)); },
       L::any},
      {std::make_shared<LogCosh>(), {kernels::LogCoshFormula{}}, plain_log_cosh, L::any},
      {std::make_shared<PoissonNll>(), {kernels::PoissonFormula{}}, plain_poisson, L::count},
      {std::make_shared<SquaredHinge>(), {kernels::SquaredHingeFormula{}}, plain_squared_hinge, L::sign},
      {std::make_shared<Focal>(2.0, 0.25),
       {kernels::FocalFormula{2.0, 0.25}},
       [](Real p, Real y) { return plain_focal(p, y, 2, static_cast<Real>(0.25)); },
       L::bit},
      {std::make_shared<Focal>(0.0, 0.6),
       {kernels::FocalFormula{0.0, 0.6}},
       [](Real p, Real y) { return plain_focal(p, y, 0, static_cast<Real>(0.6)); },
       L::bit},
  };
  return all;
}

Tensor property_targets(const PropertyLoss& loss, Entries kind, at::IntArrayRef sizes, torch::Dtype dtype,
                        double most) {
  const Tensor uniform = torch::rand(sizes, dtype);
  switch (loss.targets) {
    case PropertyLoss::any:
      return random_entries(kind, sizes, dtype, most);
    case PropertyLoss::unit:  // both ends, too
      return torch::where(uniform < 0.3, torch::zeros_like(uniform),
                          torch::where(uniform > 0.7, torch::ones_like(uniform), uniform));
    case PropertyLoss::count:
      return random_entries(kind, sizes, dtype, most).abs().floor();
    case PropertyLoss::sign:
      return torch::where(uniform < 0.5, -torch::ones_like(uniform), torch::ones_like(uniform));
    case PropertyLoss::bit:
      return (uniform < 0.5).to(dtype);
  }
  throw std::logic_error("unknown targets");
}

std::vector<Real> reals_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(torch::kFloat64).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

// "" where |found - expected| <= relative |expected| + absolute, entry by entry.
std::string compare(const std::string& what, const Tensor& found, const std::vector<Real>& expected, double relative,
                    const std::function<Real(std::size_t)>& absolute) {
  const auto values = reals_of(found);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Real allowed = relative * std::abs(expected[i]) + absolute(i);
    if (std::abs(values[i] - expected[i]) <= allowed) continue;
    return fmt::format("{} at {} is {}, expected {}, allowed {}", what, i, static_cast<double>(values[i]),
                       static_cast<double>(expected[i]), static_cast<double>(allowed));
  }
  return "";
}

// Rounding error of a result: half a unit in the last place of its dtype, and a few units of float64.
double rounding_of(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-14 : 6.1e-8; }
// Below the normal numbers errors are absolute. exp_of_nonpositive() is 0 a little above them.
double least_of(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-300 : 1.5e-45; }

const std::vector<torch::Dtype> loss_dtypes = {torch::kFloat64, torch::kFloat32};

// The largest prediction that leaves value and slope of every loss finite, with room for a difference of two.
double largest_prediction(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e150 : 1e38; }

// Deterministic results: permuting rows permutes their results. All results: two halves add up to the whole; `size` is
// the sum of the absolute values.
std::string rows_are_independent(const Loss& loss, const Tensor& p, const Tensor& y, const ProbeRequest& request,
                                 const Evaluation& whole, double size) {
  const std::int64_t rows = p.size(0);
  const auto bits = [&](const Tensor& a, const Tensor& b) { return !a.defined() ? !b.defined() : same_bits(a, b); };
  if (!is_random(request.probe)) {
    const Tensor order = torch::randperm(rows);
    const auto moved = loss.evaluate(p.index_select(0, order), y.index_select(0, order), request);
    if (!bits(moved.gradient, whole.gradient.index_select(0, order))) return "u does not follow a permutation of rows";
    if (whole.probe.defined() && !bits(moved.probe, whole.probe.index_select(0, order))) {
      return "v does not follow a permutation of rows";
    }
  }
  if (rows < 2) return "";
  const std::int64_t first = rows / 2;
  const auto one = loss.evaluate(p.narrow(0, 0, first), y.narrow(0, 0, first), request);
  ProbeRequest later = request;
  later.key.first_row += static_cast<std::uint64_t>(one.rows);
  const auto two = loss.evaluate(p.narrow(0, first, rows - first), y.narrow(0, first, rows - first), later);
  if (!bits(torch::cat({one.gradient, two.gradient}), whole.gradient))
    return "u of two halves is not that of the whole";
  if (whole.probe.defined() && !bits(torch::cat({one.probe, two.probe}), whole.probe)) {
    return "v of two halves is not that of the whole";
  }
  if (std::abs(one.sum + two.sum - whole.sum) > 1e-13 * size) {
    return fmt::format("the halves' values {} and {} do not add up to {}", one.sum, two.sum, whole.sum);
  }
  if (std::abs(one.count + two.count - whole.count) > 1e-13 * whole.count) return "the halves' counts do not add up";
  return "";
}

std::string elementwise_property() {
  const auto& c = elementwise_losses()[static_cast<std::size_t>(draw("loss", 0, 7))];
  std::vector<Probe> probes;
  for (const Probe probe : all_probes()) {
    if (c.loss->supports(probe)) probes.push_back(probe);
  }
  const auto probe = draw_one("probe", probes);
  const auto dtype = draw_one("dtype", loss_dtypes);
  const auto kind = draw_one("entries", all_entries);
  const auto target_kind = draw_one("target entries", all_entries);
  const std::int64_t rows = draw("rows", 1, 20);
  const std::int64_t outputs = draw("outputs", 1, 9);
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const bool flat = outputs == 1 && draw("flat", 0, 1) == 1;
  const std::vector<std::int64_t> sizes = flat ? std::vector{rows} : std::vector{rows, outputs};
  const double most = largest_prediction(dtype);
  Tensor p = random_entries(kind, sizes, dtype, most);
  if (c.targets == PropertyLoss::count) p = p.clamp_max(dtype == torch::kFloat64 ? 600.0 : 80.0);  // exp(p) is in u
  p = laid_out(p, draw_one("layout", all_layouts));
  const Tensor y =
      laid_out(property_targets(c, target_kind, sizes, dtype, most), draw_one("target layout", all_layouts));
  const ProbeRequest request = {probe, Scale::sqrt_n, {3, 4, 5, 6}};
  const Evaluation found = c.loss->evaluate(p, y, request);

  const auto ps = reals_of(p);
  const auto ys = reals_of(y);
  std::vector<PlainPoint> points;
  for (std::size_t i = 0; i < ps.size(); ++i) points.push_back(c.plain(ps[i], ys[i]));
  Real sum = 0;
  Real size = 0;
  std::vector<Real> u;
  std::vector<Real> second;
  for (const PlainPoint& point : points) {
    sum += point.value;
    size += std::abs(point.value) + point.slope_size;
    u.push_back(point.slope);
    second.push_back(point.second);
  }
  const double rounding = rounding_of(dtype);
  const double least = least_of(dtype);
  if (std::abs(found.sum - sum) > 1e-13 * size + 1e-300) {
    return fmt::format("the value is {}, expected {}", found.sum, static_cast<double>(sum));
  }
  if (found.count != static_cast<double>(rows) || found.rows != rows) return "the rows are not counted";
  auto trouble =
      compare("u", found.gradient, u, rounding, [&](std::size_t i) { return 1e-15 * points[i].slope_size + least; });
  if (!trouble.empty()) return trouble;
  // exp(e) has e times the relative error of e = p - y, up to 745.
  const double steep = 1e-12;
  trouble = compare("l''", c.loss->second_derivatives(p, y), second, rounding + steep,
                    [&](std::size_t i) { return 1e-14 * points[i].second_size + least; });
  if (!trouble.empty()) return trouble;
  if (probe == Probe::imitation || probe == Probe::diagonal || probe == Probe::gauss_newton) {
    std::vector<double> signs(ps.size(), 1.0);
    if (probe == Probe::gauss_newton) {
      for (std::int64_t row = 0; row < rows; ++row) {
        kernels::Draws(request.key).signs(row, outputs, signs.data() + row * outputs);
      }
    }
    std::vector<Real> v;
    for (std::size_t i = 0; i < ps.size(); ++i) v.push_back(std::sqrt(std::abs(second[i])) * signs[i]);
    // Where l'' is a difference, an error of it is at most one of the square of v.
    trouble = compare("v", found.probe, v, rounding + steep, [&](std::size_t i) {
      return std::sqrt(1e-14 * points[i].second_size) * (points[i].second_size > 10 * std::abs(second[i]) ? 1 : 0) +
             least;
    });
    if (!trouble.empty()) return trouble;
  }
  if (probe != Probe::gradient && !torch::isfinite(found.probe).all().item<bool>()) return "v is not finite";
  trouble = rows_are_independent(*c.loss, p, y, request, found, static_cast<double>(size));
  if (!trouble.empty()) return trouble;

  ops::ElementwiseTask task = {p.contiguous(), y.contiguous(), outputs, probe, request.key};
  const auto fresh = [&] { return torch::full(sizes, 77.0, dtype); };
  const Tensor plain_u = fresh();
  const Tensor plain_v = fresh();
  const auto plain = ops::elementwise_plain(c.formula, task, plain_u, plain_v);
  if (std::abs(plain.sum - found.sum) > 1e-12 * size + 1e-300) return "the ATen path has another value";
  return compare("u of the ATen path", plain_u, u, 10 * rounding,
                 [&](std::size_t i) { return 1e-14 * points[i].slope_size + least; });
}

TEST(LossProperties, ElementwiseLossesAreTheirFormulasWhateverTheInput) { expect_always(600, elementwise_property); }

std::string cross_entropy_property() {
  const auto probe = draw_one("probe", all_probes());
  const auto scale = draw_one("scale", std::vector{Scale::sqrt_n, Scale::mean});
  const auto dtype = draw_one("dtype", loss_dtypes);
  const auto kind = draw_one("entries", all_entries);
  const std::int64_t rows = draw("rows", 1, 7);
  const bool wide = draw("wide", 0, 9) == 9;  // rows computed in float32
  const std::int64_t classes = wide ? draw("many classes", 1024, 1200) : draw("classes", 1, 40);
  const bool by_index = draw("probabilities", 0, 1) == 0;
  const bool weighted = draw("class weights", 0, 1) == 1;
  CrossEntropyOptions options;
  options.label_smoothing = 0.1 * static_cast<double>(draw("smoothing in tenths", 0, 3));
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  if (weighted) options.class_weights = torch::rand({classes}, torch::kFloat64) + 0.01;
  const Tensor p = laid_out(random_entries(kind, {rows, classes}, dtype, dtype == torch::kFloat64 ? 1e300 : 1e38),
                            draw_one("layout", all_layouts));
  Tensor y;
  if (by_index) {
    y = torch::randint(classes, {rows}, torch::kInt64);
    if (draw("ignored row", 0, 1) == 1) y[draw("which", 0, rows - 1)] = options.ignore_index;
  } else {
    y = torch::softmax(3.0 * torch::randn({rows, classes}, torch::kFloat64), -1).to(dtype);
  }
  y = laid_out(y, draw_one("target layout", all_layouts));
  const CrossEntropy loss(options);
  const ProbeRequest request = {probe, scale, {3, 4, 5, 6}};
  const Evaluation found = loss.evaluate(p, y, request);

  // float32 arithmetic in wide rows: each entry is a product of a few, and v a difference as large as the largest.
  const bool narrow = dtype == torch::kFloat32 && wide;
  // And exp(x) has |x| times the relative error of x, a difference of logits: up to 745 units.
  const double rounding = narrow ? 2e-6 : rounding_of(dtype) + 2e-13;
  const double least = narrow ? 1e-37 : least_of(dtype);
  const kernels::Draws draws(request.key);
  const Tensor y_wide = by_index ? y.contiguous() : y.to(torch::kFloat64).contiguous();
  Real sum = 0;
  Real count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Real> a(static_cast<std::size_t>(classes), 0);
    const bool ignored = by_index && y_wide[row].item<std::int64_t>() == options.ignore_index;
    const auto weight = [&](std::int64_t i) { return weighted ? options.class_weights[i].item<double>() : 1.0; };
    for (std::int64_t i = 0; i < classes && !ignored; ++i) {
      const Real target = by_index ? (y_wide[row].item<std::int64_t>() == i ? 1.0L : 0.0L)
                                   : static_cast<Real>(y_wide.data_ptr<double>()[row * classes + i]);
      a[static_cast<std::size_t>(i)] =
          weight(i) * ((1 - static_cast<Real>(options.label_smoothing)) * target +
                       static_cast<Real>(options.label_smoothing) / static_cast<Real>(classes));
    }
    if (!ignored) count += by_index ? weight(y_wide[row].item<std::int64_t>()) : 1.0;
    const PlainRow expected = plain_cross_entropy(reals_of(p[row]), a);
    sum += expected.loss;
    auto trouble = compare(fmt::format("u of row {}", row), found.gradient[row], expected.u, rounding,
                           [&](std::size_t i) { return 2e-15 * (a[i] + expected.c) + least; });
    if (!trouble.empty()) return trouble;
    if (probe == Probe::gradient) continue;
    const Real factor = scale == Scale::mean ? expected.c : std::sqrt(expected.c);
    if (probe == Probe::sampled_label) {
      // u at a label that could have been drawn: the negative entry, or the largest class if its probability is 1.
      const Tensor row_probe = found.probe[row];
      const Tensor label = (row_probe < 0.0).any().item<bool>() ? row_probe.argmin() : p[row].argmax();
      const auto drawn = static_cast<std::size_t>(label.item<std::int64_t>());
      std::vector<Real> v;
      for (std::size_t i = 0; i < expected.s.size(); ++i) {
        v.push_back(factor * (i == drawn ? -expected.others[i] : expected.s[i]));
      }
      if (expected.c > 0 && expected.s[drawn] < 1e-300L) return "a label was drawn that has no probability";
      trouble = compare("v at the drawn label", found.probe[row], v, rounding, [&](std::size_t) { return least; });
    } else {
      std::vector<double> signs(static_cast<std::size_t>(classes));
      draws.signs(row, classes, signs.data());
      const auto v = plain_probe(expected, probe, factor, signs);
      Real largest = 0;
      for (std::size_t i = 0; i < v.size(); ++i) {
        largest = std::max(largest, factor * std::sqrt(expected.s[i] * expected.others[i]));
      }
      const Real difference = narrow ? 2e-6L : dtype == torch::kFloat64 ? 1e-13L : 1e-14L;
      trouble = compare(fmt::format("v of row {}", row), found.probe[row], v, rounding,
                        [&](std::size_t) { return difference * largest + least; });
    }
    if (!trouble.empty()) return trouble;
  }
  if (std::abs(found.sum - sum) > (narrow ? 1e-8 : 1e-12) * std::abs(sum) + 1e-300) {
    return fmt::format("the value is {}, expected {}", found.sum, static_cast<double>(sum));
  }
  if (std::abs(found.count - count) > 1e-12 * count) return "the count is not the total weight";
  return rows_are_independent(loss, p, y, request, found, std::abs(found.sum));
}

TEST(LossProperties, CrossEntropyIsItsFormulaWhateverTheInput) { expect_always(600, cross_entropy_property); }

// u of every loss equals torch's autograd of its value, in float64.
std::string autograd_property() {
  const std::int64_t rows = draw("rows", 1, 6);
  const std::int64_t outputs = draw("outputs", 1, 6);
  const auto kind = draw_one("entries", std::vector{Entries::normal, Entries::ties, Entries::zeros});
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const Tensor p = random_entries(kind, {rows, outputs}, torch::kFloat64, 1.0).requires_grad_();
  const Tensor bits = (torch::rand({rows, outputs}) < 0.5).to(torch::kFloat64);
  const Tensor classes = torch::randint(outputs, {rows}, torch::kInt64);
  const std::vector<std::pair<Tensor, Tensor>> pairs = {
      {BinaryCrossEntropy().evaluate(p, bits).gradient,
       gradient_of(torch::binary_cross_entropy_with_logits(p, bits, {}, {}, at::Reduction::Sum), p)},
      {CrossEntropy().evaluate(p, classes).gradient,
       gradient_of(torch::cross_entropy_loss(p, classes, {}, at::Reduction::Sum), p)},
      {MeanSquaredError().evaluate(p, bits).gradient,
       gradient_of(0.5 * torch::mse_loss(p, bits, at::Reduction::Sum), p)},
      {PoissonNll().evaluate(p, bits).gradient,
       gradient_of(torch::poisson_nll_loss(p, bits, true, false, 1e-8, at::Reduction::Sum), p)},
      {Automatic([](const Tensor& q, const Tensor& y) { return torch::log_sigmoid(q) * -y; })
           .evaluate(p, bits)
           .gradient,
       gradient_of((torch::log_sigmoid(p) * -bits).sum(), p)},
  };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double difference = (pairs[i].first - pairs[i].second).abs().max().item<double>();
    // A few units in the last place of exp(p), which is where torch's and the C library's exponentials differ.
    const double size = 1.0 + pairs[i].second.abs().max().item<double>();
    if (!(difference <= 1e-14 * size)) return fmt::format("pair {} differs by {}", i, difference);
  }
  return "";
}

TEST(LossProperties, GradientsAreAutogradsOfTheValues) { expect_always(100, autograd_property); }

// One infinity or NaN anywhere throws with its position.
std::string non_finite_property() {
  const std::int64_t rows = draw("rows", 1, 9);
  const std::int64_t outputs = draw_one<std::int64_t>("outputs", {1, 2, 3, 17, 1030});
  const auto dtype = draw_one("dtype", loss_dtypes);
  const double bad = draw_one("bad", std::vector{std::nan(""), HUGE_VAL, -HUGE_VAL});
  const std::int64_t place = draw("place", 0, rows * outputs - 1);
  Tensor p = torch::ones({rows, outputs}, dtype);
  p.view({-1})[place] = bad;
  const auto names_it = [&](const std::string& text) {
    const auto row = fmt::format("row {}", place / outputs);
    return text.find(row) != std::string::npos && text.find(std::isnan(bad) ? "nan" : "inf") != std::string::npos;
  };
  for (const auto& c : elementwise_losses()) {
    const Tensor y = torch::ones({rows, outputs}, dtype);
    const auto text = message_of([&] { c.loss->evaluate(p, y, {Probe::imitation}); });
    if (!names_it(text)) return c.loss->name() + " says: " + text;
  }
  for (const Probe probe : all_probes()) {
    const auto text = message_of([&] { CrossEntropy().evaluate(p, torch::zeros({rows}, torch::kInt64), {probe}); });
    if (!names_it(text)) return fmt::format("cross-entropy with {} says: {}", name(probe), text);
  }
  return "";
}

TEST(LossProperties, NonFinitePredictionsThrow) { expect_always(100, non_finite_property); }

// LinearCrossEntropy equals CrossEntropy of its logits for any chunks and any memory layout of the hidden values.
std::string linear_property() {
  const std::int64_t rows = draw("rows", 1, 12);
  const std::int64_t width = draw("width", 1, 6);
  const std::int64_t classes = draw("classes", 1, 9);
  const std::int64_t chunk = draw("chunk", 1, 13);
  const auto probe = draw_one("probe", all_probes());
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const Tensor weight = torch::randn({classes, width}, torch::kFloat64);
  const Tensor hidden = laid_out(random_entries(draw_one("entries", tame_entries), {rows, width}, torch::kFloat64, 1.0),
                                 draw_one("layout", all_layouts));
  const Tensor y = torch::randint(classes, {rows}, torch::kInt64);
  if (rows > 1) y[0] = -100;
  const ProbeRequest request = {probe, Scale::sqrt_n, {1, 2, 3, 4}};
  const auto found = LinearCrossEntropy(weight, {}, chunk).evaluate(hidden, y, request);
  const auto logits = hidden.mm(weight.t());
  const auto expected = CrossEntropy().evaluate(logits, y, request);
  const auto near = [](const Tensor& a, const Tensor& b) {
    return ((a - b).abs() <= 1e-12 * (b.abs().max() + 1.0)).all().item<bool>();
  };
  if (std::abs(found.sum - expected.sum) > 1e-11 * (1.0 + expected.sum)) return "another value";
  if (!near(found.gradient, expected.gradient.mm(weight))) return "another u";
  if (!near(found.parameter_gradients[0], expected.gradient.t().mm(hidden))) return "another gradient of the weight";
  if (probe == Probe::gradient || probe == Probe::sampled_label) return "";  // rounding may change the drawn label
  if (!near(found.probe, expected.probe.mm(weight))) return "another v";
  if (!near(found.parameter_probes[0], expected.probe.t().mm(hidden))) return "another probe of the weight";
  return "";
}

TEST(LossProperties, ALinearCrossEntropyIsThatOfItsLogits) { expect_always(150, linear_property); }

}  // namespace
}  // namespace lehi::testing
