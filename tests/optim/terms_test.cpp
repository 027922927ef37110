// The evaluation and scaling of loss terms by itself.
#include "optim/terms.h"

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

TEST(Terms, TheFactorsAreThoseOfTheMean) {
  LossValue loss;
  const Factors first = add_term(0, /*weight=*/2.0, /*sum=*/12.0, /*count=*/8.0, Scale::sqrt_n, loss);
  EXPECT_EQ(first.g, 0.25);
  EXPECT_EQ(first.s, 0.5);  // sqrt(2 / 8)
  EXPECT_EQ(loss.value, 3.0);
  EXPECT_EQ(loss.count, 8.0);
  const Factors second = add_term(1, 1.0, 4.0, 2.0, Scale::mean, loss);
  EXPECT_EQ(second.g, 0.5);
  EXPECT_EQ(second.s, 0.5);
  EXPECT_EQ(loss.value, 5.0);
  EXPECT_EQ(loss.count, 8.0) << "the first term's";
  EXPECT_EQ(message_of([&] { add_term(1, 1.0, 0.0, 0.0, Scale::mean, loss); }),
            "term 1: every target is ignored or has weight 0, so its mean does not exist");
}

TEST(Terms, AreEvaluatedWithTheProbeOfThePlanOnly) {
  const auto problem = make_problem("network", torch::kFloat64);
  const std::vector<Term> terms = {{problem.predict(problem.start, 1), *problem.loss, problem.targets(1)}};
  const Options options = preset(Preset::lehi_gn);
  const auto ranks = one_process();
  std::vector<Evaluation> evaluations;
  const auto evaluate = [&](const StepPlan& plan) {
    evaluations.clear();
    return evaluate_terms(terms, {.options = options, .plan = plan, .ranks = *ranks, .first_row = {}, .step = 1}, {},
                          evaluations);
  };
  EXPECT_EQ(evaluate(plan_step(options.recipe, 1)), "");
  EXPECT_TRUE(evaluations.front().probe.defined());
  EXPECT_EQ(evaluate(plan_step(options.recipe, 202)), "");
  EXPECT_FALSE(evaluations.front().probe.defined());
  const std::vector<Term> negative = {{terms.front().predictions, *problem.loss, problem.targets(1), -1.0}};
  EXPECT_EQ(message_of([&] {
              evaluate_terms(negative, {.options = options, .plan = {}, .ranks = *ranks, .first_row = {}, .step = 1},
                             {}, evaluations);
            }),
            "term 0 has weight -1, but a weight must be finite and >= 0");
}

}  // namespace
}  // namespace lehi::testing
