// The update of one parameter by itself: its state as it begins, a step by hand, coupled decay; which matrices take all
// threads; and one process's ranks.
#include "optim/updater.h"

#include <gmock/gmock.h>

#include "optim/fixtures.h"
#include "support/thread_ranks.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

struct One {
  Tensor w = torch::full({2}, 2.0, torch::kFloat64);
  Groups groups = groups_of({{w}});
  ParameterTable table;
  std::unique_ptr<RankTeam> ranks = one_process();
  States states;
  explicit One(const GroupOptions& numbers) {
    groups[0].set_options(std::make_unique<GroupOptions>(numbers));
    table.read(groups);
    table.check(groups, Rule::adam);
    ranks->set_parameters(table.tensors(), false);
  }
  void update(const Recipe& recipe, std::int64_t step, double g, double s = NAN) {
    Options options;
    options.recipe = recipe;
    const Updater updater{.options = options, .parameters = table, .ranks = *ranks, .plan = plan_step(recipe, step)};
    updater.update(states, 0, torch::full({2}, g, torch::kFloat64),
                   std::isnan(s) ? Tensor() : torch::full({2}, s, torch::kFloat64));
  }
  const ParameterState& state() const { return *find_state(states, w); }
};

GroupOptions plain_numbers() {
  GroupOptions numbers(0.5);
  numbers.beta1 = numbers.beta2 = 0.0;
  numbers.eps = 0.0;
  return numbers;
}

TEST(Updater, MakesTheStateAndTakesAdamsFirstStep) {
  One one(plain_numbers());
  EXPECT_EQ(find_state(one.states, one.w), nullptr);
  one.update(recipe_of(Preset::adam), 1, -3.0);
  EXPECT_EQ(one.state().step, 1);
  EXPECT_EQ(one.state().steps_covered, 1);
  EXPECT_EQ(one.state().m[0].item<double>(), -3.0);
  EXPECT_EQ(one.state().v[0].item<double>(), 9.0);
  EXPECT_FALSE(one.state().v_max.defined());
  EXPECT_EQ(one.w[0].item<double>(), 2.5);  // 2 - 0.5 * -3 / 3
}

TEST(Updater, AParameterWaitsForItsFirstRefresh) {
  Recipe recipe = recipe_of(Preset::lehi);
  recipe.schedule.every = 3;
  One one(LehiOptions(0.5).group());
  one.update(recipe, 2, 1.0);
  EXPECT_EQ(one.state().step, 0);
  EXPECT_EQ(one.w[0].item<double>(), 2.0);
  one.update(recipe, 4, 1.0, 1.0);
  EXPECT_EQ(one.state().step, 1);
  EXPECT_EQ(one.state().steps_covered, 3);
  EXPECT_LT(one.w[0].item<double>(), 2.0);
}

TEST(Updater, CoupledDecayEntersTheGradient) {
  GroupOptions numbers = plain_numbers();
  numbers.weight_decay = 2.0;
  One one(numbers);
  one.update(recipe_of(Preset::sgd), 1, -1.0);
  EXPECT_EQ(one.w[0].item<double>(), 0.5);  // 2 - 0.5 (-1 + 2 * 2)
}

TEST(Updater, WithoutSTheProbeIsZero) {
  One one(LehiOptions(0.5).group());
  one.update(recipe_of(Preset::lehi), 1, 1.0);
  EXPECT_EQ(one.state().v[0].item<double>(), 0.0);
}

// Products of 208 x 208 are worth several threads, those of 32 x 32 are not. A long thin matrix may be large although a
// square one with more numbers is not.
struct Matrices {
  Groups groups;
  ParameterTable table;
  std::vector<std::size_t> indices;
  explicit Matrices(const std::vector<std::vector<std::int64_t>>& sizes) {
    Weights weights;
    for (const auto& size : sizes) weights.push_back(torch::zeros(size));
    groups = groups_of({weights});
    table.read(groups);
    for (std::size_t i = 0; i < sizes.size(); ++i) indices.push_back(i);
  }
};

TEST(MatrixOrder, LargeOnesThatAreFewerThanTheThreadsAreTakenInTurn) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const auto one = one_process();
  const Matrices few({{32, 32}, {208, 208}, {32, 40}, {16, 32}, {210, 208}});
  MatrixOrder order = matrix_order(few.table, *one, few.indices, 3);
  EXPECT_THAT(order.in_turn, ElementsAre(4, 1));
  EXPECT_THAT(order.side_by_side, ElementsAre(2, 0, 3));
  order = matrix_order(few.table, *one, few.indices, 2);
  EXPECT_THAT(order.in_turn, IsEmpty());
  EXPECT_THAT(order.side_by_side, ElementsAre(4, 1, 2, 0, 3));
  const Matrices thin({{200, 200}, {8, 4000}});
  order = matrix_order(thin.table, *one, thin.indices, 2);
  EXPECT_THAT(order.in_turn, ElementsAre(1));
  EXPECT_THAT(order.side_by_side, ElementsAre(0));
}

TEST(MatrixOrder, ARankCountsThoseThatItOwns) {
  const Matrices four({{211, 208}, {210, 208}, {209, 208}, {208, 208}, {32, 32}});
  test::run_ranks(2, [&](const std::shared_ptr<test::ThreadRanks>& ranks) {
    const auto whole = team_of(ranks, {});
    whole->set_parameters(four.table.tensors(), false);
    EXPECT_EQ(matrix_order(four.table, *whole, four.indices, 3).in_turn.size(), 0U);
    const auto divided = team_of(ranks, {.shard_state = true});
    divided->set_parameters(four.table.tensors(), false);
    const MatrixOrder order = matrix_order(four.table, *divided, four.indices, 3);
    EXPECT_EQ(order.in_turn.size(), 2U);
    EXPECT_EQ(order.side_by_side.size(), ranks->rank() == 0 ? 1U : 0U);
    for (const std::size_t i : order.in_turn) EXPECT_TRUE(divided->owns_matrix(i));
  });
}

TEST(RankTeam, OfOneProcessDoesNothing) {
  const Tensor w = torch::ones({2, 3});
  const auto team = one_process();
  team->set_parameters({w}, false);
  EXPECT_FALSE(team->several());
  EXPECT_FALSE(team->divided());
  EXPECT_EQ(team->size(), 1);
  EXPECT_EQ(team->own_weights(w, 0), 6);
  EXPECT_TRUE(team->own_part(w, 0).is_same(w));
  EXPECT_EQ(team->rows_before(torch::zeros({4, 2}), 12), 0);
  double number = 3.0;
  team->sum({&number});
  EXPECT_EQ(number, 3.0);
  int delivered = 0;
  team->sum_gradients([&](const GradientSink& sink) { sink(0, w, {}); }, 1, false,
                      [&](std::size_t index, const Tensor& g, const Tensor& s) {
                        EXPECT_EQ(index, 0U);
                        EXPECT_TRUE(g.is_same(w));
                        EXPECT_FALSE(s.defined());
                        ++delivered;
                      });
  EXPECT_EQ(delivered, 1);
}

}  // namespace
}  // namespace lehi::testing
