// A number that stopped being one never reaches the weights silently: the policies raise, skip and record.
#include <limits>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// p = a x + sqrt(b) x: with b = 0 the predictions are finite and dp/db is infinite.
struct Model {
  torch::OrderedDict<std::string, torch::Tensor> named;
  torch::Tensor x = torch::tensor({1.0, 2.0}, torch::kFloat64);
  torch::Tensor y = torch::tensor({0.5, -0.5}, torch::kFloat64);

  Model() {
    named.insert("good", torch::full({1}, 0.25, torch::kFloat64).requires_grad_(true));
    named.insert("bad", torch::full({1}, 1.0, torch::kFloat64).requires_grad_(true));
  }
  torch::Tensor predict() const { return named["good"] * x + torch::sqrt(named["bad"]) * x; }
  Weights weights() const { return {named["good"], named["bad"]}; }
  void set_bad(double value) const {
    const torch::NoGradGuard guard;
    named["bad"].fill_(value);
  }
};

struct Snapshot {
  std::vector<torch::Tensor> tensors;
  std::vector<std::int64_t> steps;

  Snapshot(const Optimizer& optimizer, const Model& model) {
    for (const auto& weight : model.weights()) {
      const auto* state = optimizer.find_state(weight);
      steps.push_back(state == nullptr ? -1 : state->step);
      steps.push_back(state == nullptr ? -1 : state->steps_covered);
      tensors.push_back(weight.detach().clone());
      if (state == nullptr) continue;
      for (const auto& tensor : {state->m, state->v, state->v_max}) {
        if (tensor.defined()) tensors.push_back(tensor.clone());
      }
    }
  }
};

void expect_unchanged(const Snapshot& before, const Snapshot& after) {
  EXPECT_EQ(before.steps, after.steps);
  ASSERT_EQ(before.tensors.size(), after.tensors.size());
  for (std::size_t i = 0; i < before.tensors.size(); ++i) EXPECT_TRUE(same_bits(before.tensors[i], after.tensors[i]));
}

TEST(NonFinite, RaiseNamesTheParameterAndTheStepAndChangesNothing) {
  for (auto options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const Model model;
    Optimizer optimizer(model.named, options);
    for (int step = 0; step < 2; ++step) optimizer.step(model.predict(), MeanSquaredError(), model.y);
    model.set_bad(0.0);
    const Snapshot before(optimizer, model);
    EXPECT_THROW(optimizer.step(model.predict(), MeanSquaredError(), model.y), NonFiniteError);
    expect_unchanged(before, Snapshot(optimizer, model));
    const auto message = message_of([&] { optimizer.step(model.predict(), MeanSquaredError(), model.y); });
    EXPECT_NE(message.find("bad"), std::string::npos) << message;
    EXPECT_EQ(message.find("good"), std::string::npos) << message;
    EXPECT_NE(message.find("step 3"), std::string::npos) << message;
    EXPECT_TRUE(optimizer.report().non_finite);
    // Repaired, the run goes on.
    model.set_bad(1.0);
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    EXPECT_FALSE(optimizer.report().non_finite);
    EXPECT_TRUE(flat(model.weights()).isfinite().all().item<bool>());
  }
}

TEST(NonFinite, SkipLeavesWeightsAndStateAlone) {
  for (auto options : lively_presets()) {
    SCOPED_TRACE(options.name);
    options.non_finite = NonFinite::skip;
    const Model model;
    Optimizer optimizer(model.named, options);
    for (int step = 0; step < 2; ++step) optimizer.step(model.predict(), MeanSquaredError(), model.y);
    model.set_bad(0.0);
    const Snapshot before(optimizer, model);
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    expect_unchanged(before, Snapshot(optimizer, model));
    EXPECT_TRUE(optimizer.report().skipped);
    EXPECT_TRUE(optimizer.report().non_finite);
    model.set_bad(1.0);
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    EXPECT_FALSE(optimizer.report().skipped);
    EXPECT_FALSE(optimizer.report().non_finite);
  }
}

TEST(NonFinite, RecordAppliesTheStepAllTheSame) {
  for (const auto kind : {Preset::lehi, Preset::adam, Preset::sgd}) {
    Options options = preset(kind);
    options.non_finite = NonFinite::record;
    const Model model;
    model.set_bad(0.0);
    Optimizer optimizer(model.named, options);
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    EXPECT_TRUE(optimizer.report().non_finite);
    EXPECT_FALSE(optimizer.report().skipped);
    EXPECT_NE(model.named["good"].item<double>(), 0.25) << "the healthy weight took its step";
    EXPECT_FALSE(std::isfinite(model.named["bad"].item<double>())) << "and the broken one shows it";
  }
}

TEST(NonFinite, AccumulatedPiecesAreCheckedToo) {
  const Model model;
  Lehi optimizer(model.named, LehiOptions(0.01));
  optimizer.accumulate(model.predict(), MeanSquaredError(), model.y);
  model.set_bad(0.0);
  const Snapshot before(optimizer, model);
  // The policy may speak at the piece or at the step, but before the weights change.
  EXPECT_THROW(
      {
        optimizer.accumulate(model.predict(), MeanSquaredError(), model.y);
        optimizer.step();
      },
      NonFiniteError);
  expect_unchanged(before, Snapshot(optimizer, model));
  // What was gathered for the failed step must not leak into the next.
  optimizer.discard_accumulated();
  model.set_bad(1.0);
  optimizer.step(model.predict(), MeanSquaredError(), model.y);
  EXPECT_TRUE(flat(model.weights()).isfinite().all().item<bool>());
}

// J = 1e308 in four rows: s overflows, g does not, since u = -1e-200.
TEST(NonFinite, AnInfiniteProbeIsNoticedThoughTheGradientIsFinite) {
  const auto w = torch::zeros({1}, torch::kFloat64).requires_grad_(true);
  const auto x = torch::full({4}, 1e308, torch::kFloat64);
  const auto y = torch::full({4}, 1e-200, torch::kFloat64);
  Lehi optimizer(Weights{w}, LehiOptions(0.01));
  const auto message = message_of([&] { optimizer.step(x * w, MeanSquaredError(), y); });
  EXPECT_NE(message.find("parameter 0 of group 0"), std::string::npos) << message;
  EXPECT_NE(message.find("step 1"), std::string::npos) << message;
  EXPECT_EQ(w.item<double>(), 0.0);
}

// 1e20 is a float32 whose square is none: v would be infinite, and the weight would never move again.
TEST(NonFinite, AGradientWhoseSquareDoesNotFitIsRefused) {
  const auto take = [](const Options& options, double size) {
    const auto w = torch::zeros({2}).requires_grad_(true);
    Optimizer optimizer(Weights{w}, options);
    const auto message = message_of([&] {
      optimizer.step((w * torch::tensor({0.0F, static_cast<float>(size)})).sum().unsqueeze(0), MeanSquaredError(),
                     torch::ones({1}));
    });
    return std::pair(message, w.detach());
  };
  const auto [message, kept] = take(AdamOptions(0.1), 1e20);
  EXPECT_NE(message.find("parameter 0 of group 0 is too large for its square"), std::string::npos) << message;
  EXPECT_TRUE(torch::equal(kept, torch::zeros({2})));
  EXPECT_EQ(take(SgdOptions(0.1), 1e20).first, "") << "sgd squares nothing";
  const auto [clipped, moved] = take(AdamOptions(0.1).clip_norm(1.0), 1e18);
  EXPECT_EQ(clipped, "") << "what is clipped first fits";
  EXPECT_TRUE(torch::isfinite(moved).all().item<bool>());
  const auto [of_probe, unmoved] = take(LehiOptions(0.1), 1e20);
  EXPECT_NE(of_probe.find("the probe of parameter 0 of group 0 is too large"), std::string::npos) << of_probe;
  EXPECT_TRUE(torch::equal(unmoved, torch::zeros({2})));
}

// The squares of finite float64 gradients add up to infinity: the norm is found all the same, and clipped by.
TEST(NonFinite, AFiniteGradientIsClippedThoughItsSquaresOverflow) {
  const auto w = torch::zeros({2}, torch::kFloat64).requires_grad_(true);
  Optimizer optimizer(Weights{w}, SgdOptions(1.0).clip_norm(5.0));
  const auto x = torch::tensor({3e200, 4e200}, torch::kFloat64);
  optimizer.step((w * x).sum().unsqueeze(0), MeanSquaredError(), torch::full({1}, -1.0, torch::kFloat64));
  EXPECT_DOUBLE_EQ(optimizer.report().gradient_norm, 5e200);
  EXPECT_DOUBLE_EQ(w[0].item<double>(), -3.0);
  EXPECT_DOUBLE_EQ(w[1].item<double>(), -4.0);
}

TEST(NonFinite, NonFinitePredictionsRaise) {
  for (const double broken : {kInfinity, -kInfinity, std::nan("")}) {
    const Model model;
    Lehi optimizer(model.named, LehiOptions(0.01));
    const Snapshot before(optimizer, model);
    EXPECT_THROW(optimizer.step(model.predict() * broken, MeanSquaredError(), model.y), NonFiniteError);
    expect_unchanged(before, Snapshot(optimizer, model));
  }
}

TEST(NonFinite, NonFinitePredictionsLeaveTheWeightsAloneUnderSkipAndRecord) {
  for (const auto policy : {NonFinite::skip, NonFinite::record}) {
    const Model model;
    Lehi optimizer(model.named, LehiOptions(0.01).non_finite(policy));
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    const Snapshot before(optimizer, model);
    optimizer.step(model.predict() * kInfinity, MeanSquaredError(), model.y);
    expect_unchanged(before, Snapshot(optimizer, model));
    EXPECT_TRUE(optimizer.report().non_finite);
    optimizer.step(model.predict(), MeanSquaredError(), model.y);
    EXPECT_FALSE(optimizer.report().non_finite);
  }
}

TEST(NonFinite, ANonFiniteRegulariserIsNoticed) {
  const Model model;
  Lehi optimizer(model.named, LehiOptions(0.01));
  const Snapshot before(optimizer, model);
  const auto penalty = torch::sqrt(model.named["good"] - 0.25).sum();  // 0 with an infinite slope
  EXPECT_THROW(optimizer.step({{model.predict(), MeanSquaredError(), model.y}}, penalty), NonFiniteError);
  expect_unchanged(before, Snapshot(optimizer, model));
}

TEST(NonFinite, PoliciesHaveNames) {
  for (const std::string text : {"throw", "skip", "record"}) EXPECT_EQ(name(non_finite_from_name(text)), text);
  EXPECT_NE(message_of([] { non_finite_from_name("ignore"); }).find("ignore"), std::string::npos);
}

}  // namespace
}  // namespace lehi::testing
