#include "bench/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "bench/progress.h"
#include "bench/session.h"

namespace lehi::bench {
namespace {

using ::testing::HasSubstr;

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Times, RatioIsTheMedianOfTheRoundsRatios) {
  Times times;
  // The machine is ten times slower in the second round; this affects both sides of the ratio.
  for (const double seconds : {2.0, 30.0, 2.0}) times.add("ours", seconds);
  for (const double seconds : {1.0, 10.0, 1.0}) times.add("theirs", seconds);
  EXPECT_DOUBLE_EQ(times.ratio({{"ours"}}, {{"theirs"}}), 2.0);
  EXPECT_DOUBLE_EQ(times.median_of("ours"), 2.0);
}

TEST(Times, SumsAreWeighted) {
  Times times;
  times.add("refreshing", 2.0);
  times.add("between", 1.0);
  times.add("adamw", 1.0);
  EXPECT_DOUBLE_EQ(times.ratio({{"refreshing", 0.1}, {"between", 0.9}}, {{"adamw"}}), 1.1);
  EXPECT_DOUBLE_EQ(times.ratio({{"refreshing"}}, {{"adamw"}, {"between"}}), 1.0);
}

TEST(Times, ThrowsForAnUnknownName) {
  Times times;
  times.add("a", 1.0);
  EXPECT_THROW(times.median_of("b"), std::invalid_argument);
  EXPECT_THROW(times.ratio({{"a"}}, {{"b"}}), std::invalid_argument);
}

TEST(Contest, RunsTurnsForwardsAndBackwardsAfterAWarmUp) {
  std::string order;
  Contest contest;
  contest.add("a", [&] { order += 'a'; });
  contest.add(
      "b", [&] { order += 'b'; }, 2);
  contest.add_timed(
      {"c", "d"},
      [&] {
        order += 'c';
        return std::vector<double>{1.0, 2.0};
      },
      [&] { order += 'w'; });
  std::vector<int> starts;
  const auto times = contest.run(3, [&](int round) {
    starts.push_back(round);
    order += ' ';
  });
  EXPECT_EQ(order, " abbw abbc cbba abbc");
  EXPECT_EQ(starts, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(times.rounds(), 3U);
  EXPECT_DOUBLE_EQ(times.ratio({{"d"}}, {{"c"}}), 2.0);
}

TEST(Progress, UsesThisMachinesPaceAfterATenthOfTheWork) {
  EXPECT_DOUBLE_EQ(seconds_left(30, 5, 100), 95);   // too early to measure the pace
  EXPECT_DOUBLE_EQ(seconds_left(30, 50, 100), 30);  // faster than expected
  EXPECT_DOUBLE_EQ(seconds_left(100, 100, 100), 0);
  EXPECT_DOUBLE_EQ(seconds_left(100, 120, 100), 0);
}

TEST(Progress, PrintsTopicMeasurementAndTimeLeft) {
  std::ostringstream err;
  BenchProgress progress(err, 120);
  progress.begin("update", 60);
  progress.show("adamw", 0);
  progress.show("lehi", 0.5);  // too soon after the last line
  progress.begin("loss", 60);
  progress.show("imitation", 0);
  EXPECT_THAT(err.str(), HasSubstr("lehi: update: adamw (0 %, about 2:00 left)\n"));
  EXPECT_THAT(err.str(), HasSubstr("lehi: loss: imitation (50 %, about 0:0"));
  EXPECT_EQ(err.str().find("0.5"), std::string::npos);
}

TEST(Session, ChecksOncePerNameAndPrintsFailures) {
  std::ostringstream err;
  BenchProgress progress(err, 1);
  Session session({.correctness = true}, progress, err);
  int calls = 0;
  const auto measured = [&](double difference) {
    return [&calls, difference] {
      ++calls;
      return difference;
    };
  };
  EXPECT_EQ(session.check("loss/a", 1e-5, measured(1e-6)), "");
  EXPECT_EQ(session.check("loss/a", 1e-5, measured(1)), "");
  EXPECT_EQ(calls, 1);
  const auto sentence = session.check("loss/b", 1e-5, measured(2e-3));
  EXPECT_EQ(sentence, "loss/b differs from the plain version by 0.002, which is more than 1e-05");
  EXPECT_EQ(err.str(), "lehi: " + sentence + "\n");
  EXPECT_NE(session.check("loss/c", 1e-5, measured(std::nan(""))), "");
  ASSERT_EQ(session.measurements().size(), 3U);
  EXPECT_TRUE(is_ok(session.measurements()[0]));
  EXPECT_FALSE(is_ok(session.measurements()[1]));
  EXPECT_FALSE(is_ok(session.measurements()[2]));
}

TEST(Session, RoundsAreTheDefaultUnlessSet) {
  std::ostringstream err;
  BenchProgress progress(err, 1);
  EXPECT_EQ(Session({}, progress, err).rounds(5), 5);
  EXPECT_EQ(Session({.rounds = 2}, progress, err).rounds(5), 2);
}

}  // namespace
}  // namespace lehi::bench
