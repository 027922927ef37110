#include "report/format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lehi::report {
namespace {

TEST(ReportFormat, QuotesCommandsForTheShell) {
  EXPECT_EQ(shell_line({"lehi", "a b", "c'd", "", "x=1,2", "lehi[eps=1]"}),
            "lehi 'a b' 'c'\\''d' '' x=1,2 'lehi[eps=1]'");
}

TEST(ReportFormat, DigitsDependOnTheMetric) {
  EXPECT_EQ(metric_number("test_loss", 0.24215), "0.2422");
  EXPECT_EQ(metric_number("test_accuracy", 97.234), "97.23");
  EXPECT_EQ(metric_number("test_loss", NAN), "diverged");
  EXPECT_EQ(with_spread("test_accuracy", 97.234, 0.1), "97.23 ± 0.10");
  EXPECT_EQ(with_spread("test_loss", 0.5, NAN), "0.5000");
}

TEST(ReportFormat, DifferencesHaveASign) {
  EXPECT_EQ(difference_text("test_accuracy", 0.125), "+0.12");
  EXPECT_EQ(difference_text("test_loss", -0.0063), "-0.0063");
  EXPECT_EQ(interval_text("test_loss", -0.0063, 0.0012), "-0.0063 to +0.0012");
  EXPECT_EQ(interval_text("test_loss", NAN, NAN), "-");
}

TEST(ReportFormat, NamesTheLastEvaluations) {
  EXPECT_EQ(last_evaluations(1), "the last evaluation");
  EXPECT_EQ(last_evaluations(10), "the last 10 evaluations");
}

}  // namespace
}  // namespace lehi::report
