#include "bench/measurement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/growth_curve.h"

namespace lehi::bench {
namespace {

TEST(Measurement, IsOkWithinItsBound) {
  EXPECT_TRUE(is_ok({"a", 1.25, "x", at_most(1.25)}));
  EXPECT_FALSE(is_ok({"a", 1.26, "x", at_most(1.25)}));
  EXPECT_TRUE(is_ok({"a", 4.0, "x", at_least(4)}));
  EXPECT_FALSE(is_ok({"a", 3.9, "x", at_least(4)}));
  EXPECT_TRUE(is_ok({"a", 1e9, "s"}));
}

TEST(Measurement, IsNotOkIfNotFiniteOrACheckFailed) {
  EXPECT_FALSE(is_ok({"a", std::nan(""), "x"}));
  EXPECT_FALSE(is_ok({"a", INFINITY, "x", at_least(4)}));
  EXPECT_FALSE(is_ok({"a", 1.0, "x", at_most(2), "a differs from the plain version"}));
}

TEST(Measurement, HasABoundAndATopic) {
  EXPECT_EQ(bound_text(at_most(1.25)), "<= 1.25");
  EXPECT_EQ(bound_text(at_least(4)), ">= 4");
  EXPECT_EQ(bound_text({}), "");
  EXPECT_EQ(topic_of("step/gpt2/lehi"), "step");
}

TEST(Measurement, JsonHasExactlyTheDocumentedFields) {
  const auto list =
      measurements_json({{"a/b", 1.5, "x", at_most(1.25)}, {"a/c", 2.0, "s"}, {"a/d", std::nan(""), "x", at_least(1)}});
  EXPECT_EQ(list.dump(), R"([{"name":"a/b","value":1.5,"unit":"x","bound":1.25,"ok":false},)"
                         R"({"name":"a/c","value":2.0,"unit":"s","bound":null,"ok":true},)"
                         R"({"name":"a/d","value":null,"unit":"x","bound":1.0,"ok":false}])");
}

TEST(GrowthCurve, ExcessIsTheLargestOfNeighbours) {
  // The time doubles, then triples; the arithmetic doubles each time.
  const GrowthCurve curve{"batch", "rows", {{1, 10, 1.0}, {2, 20, 2.0}, {4, 40, 6.0}}};
  EXPECT_DOUBLE_EQ(largest_excess(curve), 1.5);
  const GrowthCurve slower{"batch", "rows", {{1, 10, 1.0}, {2, 20, 1.5}}};
  EXPECT_DOUBLE_EQ(largest_excess(slower), 0.75);
  EXPECT_DOUBLE_EQ(largest_excess({"batch", "rows", {{1, 10, 1.0}}}), 1.0);
}

TEST(GrowthCurve, FigureHasLogAxesAndTheArithmeticsLine) {
  const auto figure = growth_figure({{"batch", "rows", {{1, 10, 1.0}, {2, 20, 1.5}, {4, 40, 2.0}}}});
  ASSERT_EQ(figure.panels.size(), 1U);
  const auto& panel = figure.panels[0];
  EXPECT_TRUE(panel.x.log && panel.y.log);
  ASSERT_EQ(panel.series.size(), 2U);
  EXPECT_EQ(panel.series[0].y, (std::vector<double>{0.5, 1.0, 2.0}));  // through the largest point
  EXPECT_EQ(panel.series[1].y, (std::vector<double>{1.0, 1.5, 2.0}));
}

}  // namespace
}  // namespace lehi::bench
