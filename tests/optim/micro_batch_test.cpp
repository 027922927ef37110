// accumulate() over uneven pieces of a batch and step() must equal one step() on the whole, for g, s and the weights,
// for every preset, random probes included. The model has two heads with different row counts; some rows are ignored.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

constexpr std::int64_t kRows = 13;
constexpr std::int64_t kSecondRows = 7;
constexpr int kSteps = 12;  // past the second refresh of sophia-g, at step 11

struct TwoHeads {
  Weights w;
  torch::Tensor inputs, classes, second_inputs, labels;
  CrossEntropy cross_entropy{{.class_weights = torch::tensor({0.5, 2.0, 1.0}, torch::kFloat64), .ignore_index = -1}};
  BinaryCrossEntropy bce;

  TwoHeads() {
    torch::manual_seed(3);
    const auto random = [](at::IntArrayRef size) { return torch::randn(size, torch::kFloat64); };
    w = fresh({0.5 * random({6, 4}), 0.1 * random({6}), 0.5 * random({3, 6}), 0.5 * random({1, 6})});
    inputs = random({kRows, 4});
    classes = torch::tensor({0, 2, -1, 1, 1, -1, 0, 0, 2, -1, 1, 2, 0}, torch::kInt64);
    second_inputs = random({kSecondRows, 4});
    labels = torch::tensor({1, 0, 0, 1, 1, 0, 1}, torch::kFloat64).unsqueeze(1);
  }

  torch::Tensor hidden(const torch::Tensor& x) const { return torch::tanh(x.matmul(w[0].t()) + w[1]); }

  // Rows [from, to) of the first head and [second_from, second_to) of the second.
  std::vector<Term> terms(std::int64_t from, std::int64_t to, std::int64_t second_from, std::int64_t second_to) const {
    const auto logits = hidden(inputs.slice(0, from, to)).matmul(w[2].t());
    const auto scores = hidden(second_inputs.slice(0, second_from, second_to)).matmul(w[3].t());
    return {{logits, cross_entropy, classes.slice(0, from, to), 0.7},
            {scores, bce, labels.slice(0, second_from, second_to), 2.5}};
  }
  std::vector<Term> whole() const { return terms(0, kRows, 0, kSecondRows); }
};

// Of a kronecker matrix the factors are compared, and the moments by what they do to the weights: the signs of its
// bases are free.
void expect_same_state(const Optimizer& a, const Weights& of_a, const Optimizer& b, const Weights& of_b) {
  const double rounding = rounding_of(a.options());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_LE(relative_difference(of_a[i], of_b[i]), rounding) << "weight " << i;
    const auto* left = a.find_state(of_a[i]);
    const auto* right = b.find_state(of_b[i]);
    ASSERT_TRUE(left != nullptr && right != nullptr);
    ASSERT_EQ(left->matrix, right->matrix);
    for (const auto part : {&ParameterState::left, &ParameterState::right, &ParameterState::m, &ParameterState::v}) {
      const bool moment = part == &ParameterState::m || part == &ParameterState::v;
      if (moment && (left->left.defined() || left->right.defined())) continue;
      ASSERT_EQ((left->*part).defined(), (right->*part).defined());
      if ((left->*part).defined()) {
        EXPECT_LE(relative_difference(left->*part, right->*part), rounding) << "state of weight " << i;
      }
    }
  }
}

TEST(MicroBatch, UnevenPiecesOfOneTermEqualTheWholeBatch) {
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    TwoHeads whole;
    TwoHeads split;
    const Weights used_whole(whole.w.begin(), whole.w.begin() + 3);
    const Weights used_split(split.w.begin(), split.w.begin() + 3);
    Optimizer one(used_whole, options);
    Optimizer many(used_split, options);
    for (int step = 0; step < kSteps; ++step) {
      const double value =
          one.step(whole.hidden(whole.inputs).matmul(whole.w[2].t()), whole.cross_entropy, whole.classes);
      std::int64_t from = 0;
      for (const std::int64_t to : {5, 6, 13}) {  // row 5, alone in its piece, is ignored
        const auto logits = split.hidden(split.inputs.slice(0, from, to)).matmul(split.w[2].t());
        many.accumulate(logits, split.cross_entropy, split.classes.slice(0, from, to));
        from = to;
      }
      many.step();
      EXPECT_NEAR(many.report().value, value, rounding_of(options));
      EXPECT_NEAR(many.report().count, one.report().count, 1e-12);
      EXPECT_EQ(many.report().refreshed, one.report().refreshed);
      EXPECT_NEAR(many.report().gradient_norm, one.report().gradient_norm,
                  rounding_of(options) * one.report().gradient_norm);
    }
    expect_same_state(many, used_split, one, used_whole);
  }
}

TEST(MicroBatch, UnevenPiecesOfTwoTermsEqualTheWholeBatch) {
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    TwoHeads whole;
    TwoHeads split;
    Optimizer one(whole.w, options);
    Optimizer many(split.w, options);
    for (int step = 0; step < kSteps; ++step) {
      one.step(whole.whole());
      many.accumulate(split.terms(0, 8, 0, 1));
      many.accumulate(split.terms(8, 12, 1, 3));
      many.accumulate(split.terms(12, 13, 3, 7));
      many.step();
    }
    expect_same_state(many, split.w, one, whole.w);
  }
}

TEST(MicroBatch, CountIsTheTotalClassWeightOfCountedRows) {
  TwoHeads model;
  Lehi optimizer(model.w, LehiOptions(0.01));
  optimizer.step(model.whole());
  EXPECT_DOUBLE_EQ(optimizer.report().count, 4 * 0.5 + 3 * 2.0 + 3 * 1.0);
}

// s over the terms, from the paper's auxiliary losses by autograd: weights enter as sqrt(weight / total weight).
TEST(MicroBatch, SeveralTermsEqualTheWeightedSumWrittenAsOneLoss) {
  TwoHeads model;
  const auto& class_weights = model.cross_entropy.options().class_weights;
  const auto logits = model.hidden(model.inputs).matmul(model.w[2].t());
  const auto scores = model.hidden(model.second_inputs).matmul(model.w[3].t());
  const auto loss = 0.7 * torch::cross_entropy_loss(logits, model.classes, class_weights, torch::Reduction::Mean, -1) +
                    2.5 * torch::binary_cross_entropy_with_logits(scores, model.labels);
  const auto counted = model.classes.ge(0);
  const auto row_weights = class_weights.index_select(0, model.classes.clamp_min(0)) * counted;
  const auto z = torch::asin(2 * torch::softmax(logits, -1) - 1).sum(-1);
  const auto auxiliary = (row_weights.sqrt() * z).sum() * std::sqrt(0.7 / row_weights.sum().item<double>()) +
                         torch::asin(torch::tanh(scores / 2)).sum() * std::sqrt(2.5 / kSecondRows);
  const auto g = torch::autograd::grad({loss}, model.w, {}, true);
  const auto s = torch::autograd::grad({auxiliary}, model.w, {}, true);

  Lehi optimizer(model.w, LehiOptions(0.01));  // m = g and v = s^2 after the first step
  const double value = optimizer.step(model.whole());
  EXPECT_NEAR(value, loss.item<double>(), 1e-14);
  for (std::size_t i = 0; i < model.w.size(); ++i) {
    EXPECT_LE(relative_difference(optimizer.find_state(model.w[i])->m, g[i]), 1e-13) << "g of weight " << i;
    EXPECT_LE(relative_difference(optimizer.find_state(model.w[i])->v, s[i].square()), 1e-12) << "s^2 of weight " << i;
  }
}

TEST(MicroBatch, ATiedWeightSumsBothUsesBeforeSquaring) {
  torch::manual_seed(5);
  const auto w = torch::randn({4, 4}, torch::kFloat64).requires_grad_(true);
  const auto x = torch::randn({6, 4}, torch::kFloat64);
  const auto y = torch::randn({6, 4}, torch::kFloat64);
  const auto p = torch::tanh(x.matmul(w)).matmul(w.t());
  const auto g = torch::autograd::grad({(p - y).square().sum() / 12.0}, {w}, {}, true)[0];
  const auto s = torch::autograd::grad({p.sum() / std::sqrt(6.0)}, {w}, {}, true)[0];
  Lehi optimizer(Weights{w}, LehiOptions(0.01));
  optimizer.step(p, MeanSquaredError(), y);
  EXPECT_LE(relative_difference(optimizer.find_state(w)->m, g), 1e-13);
  EXPECT_LE(relative_difference(optimizer.find_state(w)->v, s.square()), 1e-13);
}

TEST(MicroBatch, ReorderedGroupsChangeNothingButRounding) {
  for (auto options : lively_presets()) {
    SCOPED_TRACE(options.name);
    options.clip_norm = 0.05;  // the global norm runs over all groups
    TwoHeads forward;
    TwoHeads backward;
    Optimizer one(groups_of({{forward.w[0], forward.w[1]}, {forward.w[2]}, {forward.w[3]}}), options);
    Optimizer two(groups_of({{backward.w[3]}, {backward.w[2]}, {backward.w[1], backward.w[0]}}), options);
    for (int step = 0; step < kSteps; ++step) {
      one.step(forward.whole());
      two.step(backward.whole());
    }
    EXPECT_LT(one.report().clip_factor, 1.0);
    expect_same_state(two, backward.w, one, forward.w);
  }
}

TEST(MicroBatch, ARegulariserJoinsTheAccumulatedPieces) {
  TwoHeads whole;
  TwoHeads split;
  Lehi one(whole.w, LehiOptions(0.01));
  Lehi many(split.w, LehiOptions(0.01));
  one.step(whole.whole(), whole.w[2].square().sum());
  many.accumulate(split.terms(0, 8, 0, 1));
  many.accumulate(split.terms(8, 13, 1, 7));
  many.step(std::vector<Term>{}, split.w[2].square().sum());
  EXPECT_NEAR(many.report().value, one.report().value, 1e-12);
  expect_same_state(many, split.w, one, whole.w);
}

TEST(MicroBatch, AParameterMayTakePartInSomePiecesOnly) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  Lehi reference(expected, LehiOptions(0.01));
  const auto p = problem.predict(expected, 1);
  const auto q = problem.predict({expected[0].detach(), expected[1], expected[2], expected[3]}, 2);
  reference.step(torch::cat({q, p}), *problem.loss, torch::cat({problem.targets(2), problem.targets(1)}));
  optimizer.accumulate(problem.predict({weights[0].detach(), weights[1], weights[2], weights[3]}, 2), *problem.loss,
                       problem.targets(2));
  optimizer.accumulate(problem.predict(weights, 1), *problem.loss, problem.targets(1));
  optimizer.step();
  expect_same_state(optimizer, weights, reference, expected);
}

TEST(MicroBatch, AGroupAddedInTheMiddleOfAStepIsRefused) {
  TwoHeads model;
  Lehi optimizer(Weights{model.w[0], model.w[1], model.w[2]}, LehiOptions(0.01));
  optimizer.accumulate(model.whole());
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(Weights{model.w[3]}));
  EXPECT_THROW(optimizer.accumulate(model.whole()), std::invalid_argument);
  EXPECT_THROW(optimizer.step(), std::invalid_argument);
  optimizer.discard_accumulated();
  EXPECT_NO_THROW(optimizer.step(model.whole()));
}

TEST(MicroBatch, DiscardedPiecesLeaveNoTrace) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  LehiGn optimizer(weights, LehiGnOptions(0.01));
  LehiGn reference(expected, LehiGnOptions(0.01));
  optimizer.accumulate(problem.predict(weights, 2), *problem.loss, problem.targets(2));
  optimizer.discard_accumulated();
  take_step(optimizer, problem, weights, 1);
  take_step(reference, problem, expected, 1);
  EXPECT_TRUE(same_bits(flat(weights), flat(expected)));
}

TEST(MicroBatch, CallsOfOneStepMustPassTheSameNumberOfTerms) {
  TwoHeads model;
  Lehi optimizer(model.w, LehiOptions(0.01));
  optimizer.accumulate(model.whole());
  auto single = model.whole();
  single.pop_back();
  EXPECT_THROW(optimizer.accumulate(single), std::invalid_argument);
}

}  // namespace
}  // namespace lehi::testing
