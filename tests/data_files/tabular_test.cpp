// Tables as data sets.
#include "data/tabular.h"

#include <gmock/gmock.h>

#include <set>

#include "data/error.h"
#include "data/permutation.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A table with a header and `rows` rows, each made from its number.
template <class Row>
Table table(const std::string& header, int rows, Row row) {
  std::string text = header + "\n";
  for (int i = 0; i < rows; ++i) text += row(i) + "\n";
  return parse_csv(text, "t.csv");
}

std::string number(double value) { return std::to_string(value); }

torch::Tensor both(const torch::Tensor& train, const torch::Tensor& test) { return torch::cat({train, test}); }

TEST(Tabular, AFifthIsTheTestPartAndEveryRowIsUsedOnce) {
  const auto data =
      tabular_dataset(table("x,y", 52, [](int i) { return number(i) + "," + number(i * i); }), "y", "", 3);
  EXPECT_EQ(data.train.size(), 42);
  EXPECT_EQ(data.test.size(), 10);
  EXPECT_EQ(data.kind, TaskKind::regression);
  EXPECT_EQ(data.inputs, 1);
  EXPECT_EQ(data.outputs, 1);
  EXPECT_THAT(data.train.targets.sizes(), ElementsAre(42, 1));
  EXPECT_EQ(data.train.inputs.dtype(), torch::kFloat32);
  EXPECT_THAT(data.notices, IsEmpty());
  // Standardised, the values 0, 1, 2, ... are still equally spaced: sorted, they show that every row is there.
  const auto sorted = std::get<0>(both(data.train.inputs, data.test.inputs).flatten().sort());
  const auto steps = sorted.diff();
  EXPECT_LT((steps - steps.mean()).abs().max().item<double>(), 1e-5);  // a few float32 roundings of numbers up to 2
}

TEST(Tabular, TrainingPartAloneSetsTheScale) {
  // The target is affine in x. Standardised by the same rows, both are equal, in the test part too.
  const auto data = tabular_dataset(
      table("x,y", 50, [](int i) { return number(i % 7 + i) + "," + number(3.0 * (i % 7 + i) + 8); }), "y", "", 1);
  EXPECT_LT((data.train.inputs - data.train.targets).abs().max().item<double>(), 1e-6);
  EXPECT_LT((data.test.inputs - data.test.targets).abs().max().item<double>(), 1e-6);
  const auto train = data.train.inputs.to(torch::kFloat64);
  EXPECT_NEAR(train.mean().item<double>(), 0.0, 1e-7);
  EXPECT_NEAR(train.std(/*unbiased=*/false).item<double>(), 1.0, 1e-7);
  EXPECT_GT(std::abs(data.test.inputs.mean().item<double>()), 1e-3);
}

TEST(Tabular, StandardisesAsByHand) {
  const auto source = table("x,y", 10, [](int i) { return number(i * i) + "," + number(i); });
  const auto data = tabular_dataset(source, "y", "", 0);
  const auto order = permutation(10, 0, Draw::test_split);
  double mean = 0.0;
  for (int i = 0; i < 8; ++i) mean += static_cast<double>(order[i] * order[i]) / 8;
  double variance = 0.0;
  for (int i = 0; i < 8; ++i) variance += std::pow(static_cast<double>(order[i] * order[i]) - mean, 2) / 8;
  for (int i = 0; i < 10; ++i) {
    const double expected = (static_cast<double>(order[i] * order[i]) - mean) / std::sqrt(variance);
    EXPECT_NEAR(both(data.train.inputs, data.test.inputs)[i].item<double>(), expected, 1e-6);
  }
}

TEST(Tabular, SeedAloneDecidesTheSplit) {
  const auto source = table("x,y", 40, [](int i) { return number(i) + "," + number(i * i); });
  torch::manual_seed(1);
  const auto first = tabular_dataset(source, "y", "", 5);
  torch::manual_seed(2);
  const auto second = tabular_dataset(source, "y", "", 5);
  EXPECT_TRUE(same_bits(first.train.inputs, second.train.inputs));
  EXPECT_TRUE(same_bits(first.test.targets, second.test.targets));
  EXPECT_FALSE(same_bits(first.train.inputs, tabular_dataset(source, "y", "", 6).train.inputs));
}

TEST(Tabular, StringColumnsBecomeOneColumnPerCategory) {
  const char* colours[] = {"red", "green", "blue"};
  const auto data = tabular_dataset(
      table("colour,y", 30, [&](int i) { return std::string(colours[i % 3]) + "," + number(i % 3); }), "y", "", 0);
  ASSERT_EQ(data.inputs, 3);  // blue, green, red
  EXPECT_TRUE((data.train.inputs.sum(1) == 1).all().item<bool>());
  // y is 0, 1, 2 for red, green, blue: the highest standardised target goes with the first column.
  EXPECT_TRUE(
      data.train.inputs.argmax(1).equal(2 - std::get<1>(at::_unique(data.train.targets, true, true)).flatten()));
}

TEST(Tabular, CategoryThatOnlyTheTestPartHasIsAllZerosWithANotice) {
  const auto test_row = permutation(20, 0, Draw::test_split).back();
  const auto data =
      tabular_dataset(table("c,y", 20,
                            [&](int i) {
                              return std::string(i == test_row ? "rare" : i % 2 == 0 ? "a" : "b") + "," + number(i);
                            }),
                      "y", "", 0);
  EXPECT_EQ(data.inputs, 2);
  EXPECT_THAT(data.notices, Contains(HasSubstr("1 test rows have a category of column 'c'")));
  const auto sums = data.test.inputs.sum(1);
  EXPECT_EQ(sums[3].item<float>(), 0.0F);
  EXPECT_TRUE((sums.narrow(0, 0, 3) == 1).all().item<bool>());
}

TEST(Tabular, ConstantColumnsAreDroppedWithANotice) {
  const auto data =
      tabular_dataset(table("k,x,t,y", 20, [](int i) { return "4," + number(i) + ",same," + number(i); }), "y", "", 0);
  EXPECT_EQ(data.inputs, 1);
  EXPECT_THAT(data.notices, AllOf(Contains(HasSubstr("'k' is constant")), Contains(HasSubstr("'t' is constant"))));
}

TEST(Tabular, StringTargetMeansClassesInSortedOrder) {
  const char* names[] = {"cat", "ant", "bee"};
  const auto source = table("x,y", 30, [&](int i) { return number(i % 3) + "," + names[i % 3]; });
  const auto data = tabular_dataset(source, "y", "", 0);
  EXPECT_EQ(data.kind, TaskKind::classification);
  EXPECT_EQ(data.outputs, 3);
  ASSERT_EQ(data.train.targets.dtype(), torch::kInt64);
  ASSERT_THAT(data.train.targets.sizes(), ElementsAre(24));
  // x = 0, 1, 2 for cat, ant, bee, whose classes are 2, 0, 1.
  const auto x = std::get<1>(at::_unique(data.train.inputs, true, true)).flatten();
  EXPECT_TRUE(data.train.targets.equal((x + 2).remainder(3)));
}

TEST(Tabular, TwoClassesBecomeABinaryTask) {
  const auto data = tabular_dataset(
      table("x,y", 20, [](int i) { return number(i % 2) + (i % 2 == 0 ? ",no" : ",yes"); }), "y", "", 0);
  EXPECT_EQ(data.kind, TaskKind::binary);
  EXPECT_EQ(data.outputs, 1);
  ASSERT_THAT(data.train.targets.sizes(), ElementsAre(16, 1));
  EXPECT_TRUE(data.train.targets.equal((data.train.inputs > 0).to(torch::kFloat32)));
  EXPECT_THAT(data.notices, ElementsAre(AllOf(HasSubstr("two classes"), HasSubstr("'yes' is 1"))));
}

TEST(Tabular, NumericTargetIsRegressionUnlessKindSaysOtherwise) {
  const auto source = table("x,y", 30, [](int i) { return number(i) + "," + std::to_string(i % 3 * 5); });
  const auto plain = tabular_dataset(source, "y", "", 0);
  EXPECT_EQ(plain.kind, TaskKind::regression);
  EXPECT_THAT(plain.notices, ElementsAre(HasSubstr("only 3 different whole numbers")));
  EXPECT_THAT(tabular_dataset(source, "y", "regression", 0).notices, IsEmpty());
  const auto classes = tabular_dataset(source, "y", "classification", 0);
  EXPECT_EQ(classes.kind, TaskKind::classification);
  EXPECT_EQ(classes.outputs, 3);
  EXPECT_EQ(classes.train.targets.max().item<std::int64_t>(), 2);
}

TEST(Tabular, BadTargetsAndKindsThrow) {
  const auto source =
      table("x,y,z,k", 20, [](int i) { return number(i + .5) + (i == 4 ? ",one," : ",1,") + number(i) + ",7"; });
  const auto error_of = [&](const char* target, const char* kind) {
    return message_of([&] { tabular_dataset(source, target, kind, 0); });
  };
  EXPECT_THAT(error_of("w", ""), StartsWith("t.csv has no column 'w'; its columns are x, y, z, k"));
  EXPECT_THAT(error_of("x", "guess"), HasSubstr("kind 'guess' is unknown"));
  EXPECT_THAT(error_of("y", "regression"), StartsWith("t.csv line 6: target 'y' is 'one'"));
  EXPECT_THAT(error_of("x", "classification"), StartsWith("t.csv line 2: classes must be whole numbers"));
  EXPECT_THAT(error_of("z", "binary"), HasSubstr("needs two classes, but target 'z' has 20"));
  EXPECT_THAT(error_of("k", ""), HasSubstr("target 'k' is 7 in every training row"));
  EXPECT_THAT(error_of("k", "classification"), HasSubstr("only one class, '7'"));
}

TEST(Tabular, BadTablesThrow) {
  const auto error_of = [](const Table& source) { return message_of([&] { tabular_dataset(source, "y", "", 0); }); };
  EXPECT_THAT(error_of(table("x,y", 9, [](int i) { return number(i) + "," + number(i); })),
              HasSubstr("has 9 rows; at least 10"));
  EXPECT_THAT(error_of(table("y", 20, [](int i) { return number(i); })),
              HasSubstr("no usable input column besides the target 'y'"));
  EXPECT_THAT(error_of(table("c,y", 400, [](int i) { return "id" + std::to_string(i) + "," + number(i); })),
              AllOf(HasSubstr("column 'c' has 320 different strings"), HasSubstr("at most 256")));
  EXPECT_THAT(error_of(table("x,y", 20, [](int i) { return (i % 2 == 0 ? "1e300," : "-1e300,") + number(i); })),
              HasSubstr("column 'x' can't be standardised"));
  // Fails if the outlier is one of the four test rows: then the scale follows from the ordinary rows only.
  int errors = 0;
  for (int far = 0; far < 20; ++far) {
    const auto message =
        error_of(table("x,y", 20, [far](int i) { return (i == far ? "1e80" : number(i)) + "," + number(i); }));
    if (message.find("too large for float32") != std::string::npos) ++errors;
  }
  EXPECT_EQ(errors, 4);
}

TEST(Tabular, ClassWithoutTrainingRowsAddsANotice) {
  const auto test_row = permutation(20, 0, Draw::test_split).back();
  const auto source = table("x,y", 20, [&](int i) {
    return number(i) + (i == test_row ? ",rare" : i % 2 == 0 ? ",a" : ",b");
  });
  const auto data = tabular_dataset(source, "y", "", 0);
  EXPECT_EQ(data.outputs, 3);
  EXPECT_THAT(data.notices, Contains(HasSubstr("1 of the 3 classes of target 'y' occur in no training row")));
}

}  // namespace
}  // namespace lehi::data
