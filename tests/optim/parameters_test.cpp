// The table of parameters by itself.
#include "optim/parameters.h"

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

Groups groups_with(const std::vector<Weights>& members) {
  Groups groups = groups_of(members);
  for (auto& group : groups) group.set_options(std::make_unique<GroupOptions>());
  return groups;
}

TEST(ParameterTable, ListsParametersOverAllGroups) {
  const auto a = torch::zeros({2});
  const auto b = torch::zeros({3});
  const auto c = torch::zeros({4});
  Groups groups = groups_with({{a, b}, {c}});
  dynamic_cast<GroupOptions&>(groups[1].options()).lr = 0.5;
  ParameterTable table;
  EXPECT_FALSE(table.is_current(groups));
  table.read(groups);
  table.check(groups, Rule::adam);
  EXPECT_TRUE(table.is_current(groups));
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table.group_count(), 2U);
  EXPECT_TRUE(table.tensor(2).is_same(c));
  EXPECT_EQ(table.group_of(1), 0U);
  EXPECT_EQ(table.group_of(2), 1U);
  EXPECT_EQ(table.options_of(2).lr, 0.5);
  EXPECT_EQ(table.find(b), std::optional<std::size_t>(1));
  EXPECT_EQ(table.find(torch::zeros({3})), std::nullopt);
  EXPECT_EQ(table.name(2), "parameter 0 of group 1");
  table.set_name(c, "head");
  EXPECT_EQ(table.name(2), "head");
}

TEST(ParameterTable, FollowsAddedParametersAndKeepsNames) {
  const auto a = torch::zeros({2});
  Groups groups = groups_with({{a}});
  ParameterTable table;
  table.read(groups);
  table.set_name(a, "body");
  groups[0].params().push_back(torch::zeros({3}));
  EXPECT_FALSE(table.is_current(groups));
  table.read(groups);
  EXPECT_TRUE(table.is_current(groups));
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.name(0), "body");
}

TEST(ParameterTable, ThrowsForWhatCannotBeTrained) {
  const auto a = torch::zeros({2});
  const auto message = [](const Groups& groups) {
    return message_of([&] {
      ParameterTable table;
      table.read(groups);
      table.check(groups, Rule::adam);
    });
  };
  EXPECT_EQ(message(groups_with({{a}, {a}})),
            "parameter 0 of group 1 is listed twice: it would take two steps at once");
  EXPECT_EQ(message(groups_with({{torch::Tensor()}})), "parameter 0 of group 0 is an undefined tensor");
  EXPECT_EQ(message(groups_with({{torch::zeros({2}, torch::kInt64)}})),
            "parameter 0 of group 0 is a Long tensor of layout strided; expected a dense floating-point one");
  Groups foreign = groups_of({{a}});
  foreign[0].set_options(std::make_unique<torch::optim::AdamOptions>());
  EXPECT_EQ(message(foreign), "parameter group 0 has another optimizer's options: give it lehi::GroupOptions, or none");
}

}  // namespace
}  // namespace lehi::testing
