#include "study/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "study/fake.h"

namespace lehi::study {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StudyProgress, CountsRunsThatWillComeLater) {
  std::ostringstream err;
  std::vector<StudyRun> runs(2, testing::fake_run("lehi", 0.1, 0, 0.3));
  for (auto& entry : runs) entry.status.reset();
  runs[1].task = "mnist";
  const std::vector<StudyRun> later(3, runs[0]);
  StudyProgress progress(err, {}, 1, runs, later);
  progress.started(0, 0.0);
  progress.reported(0, {.step = 0, .total = 100}, 0.0);
  progress.reported(0, {.step = 10, .total = 100}, 1.0);  // ten seconds in all, as long as the four others will take
  EXPECT_NEAR(*progress.seconds_left(1.0), 9.0 + 4 * 10.0, 1e-9);
  progress.ended(0, testing::fake_run("lehi", 0.1, 0, 0.3), 10.0);
  progress.started(1, 10.0);
  progress.reported(1, {.step = 0, .total = 100}, 10.0);
  progress.reported(1, {.step = 10, .total = 100}, 10.5);  // another task, and faster
  EXPECT_NEAR(*progress.seconds_left(10.5), 4.5 + 3 * 10.0, 1e-9);
  progress.tick(0.0);
  progress.tick(100.0);
  EXPECT_THAT(err.str(), HasSubstr("1 of 5 runs ended, 1 running"));
  auto mnist = testing::fake_run("lehi", 0.1, 0, 0.3);
  mnist.task = "mnist";
  progress.ended(1, mnist, 15.0);
  auto all = runs;
  all[0] = testing::fake_run("lehi", 0.1, 0, 0.3);
  all[1] = mnist;
  all.push_back(runs[0]);
  progress.replace(all, {});
  EXPECT_NEAR(*progress.seconds_left(15.0), 10.0, 1e-9) << "one of the expected three came";
}

TEST(StudyProgress, ReadsReportsAndNothingElse) {
  const auto report = parse_report(R"({"step":123,"total":11725,"epoch":3,"seconds":1.9,"train_loss":0.41})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 123);
  EXPECT_EQ(report->total, 11725);
  EXPECT_EQ(report->epoch, 3);
  EXPECT_EQ(report->train_loss, 0.41);
  EXPECT_TRUE(std::isnan(parse_report(R"({"step":1,"total":2,"train_loss":null})")->train_loss));
  for (const auto* line : {"", "hello", "{", "[1]", R"({"step":1})", R"({"step":-1,"total":2})",
                           R"({"step":"1","total":2})", R"({"step":1,"total":0})"}) {
    EXPECT_FALSE(parse_report(line)) << line;
  }
}

TEST(StudyProgress, WritesDurationsForPeople) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(125.0), "2 min 05 s");
  EXPECT_EQ(duration_text(3720.0), "1 h 02 min");
  EXPECT_EQ(duration_text(-1.0), "0 s");
}

TEST(StudyProgress, EstimatesWhatIsLeft) {
  std::ostringstream err;
  std::vector<StudyRun> runs(3, testing::fake_run("lehi", 0.1, 0, 0.3));
  for (auto& entry : runs) entry.status.reset();
  StudyProgress progress(err, {}, 1, runs);
  EXPECT_FALSE(progress.seconds_left(0.0));
  progress.started(0, 100.0);
  progress.reported(0, {.step = 0, .total = 100}, 101.0);
  EXPECT_FALSE(progress.seconds_left(0, 101.0)) << "one report gives no speed";
  progress.reported(0, {.step = 20, .total = 100}, 103.0);  // 10 steps a second: 80 steps, 8 seconds
  EXPECT_NEAR(*progress.seconds_left(0, 103.0), 8.0, 1e-9);
  EXPECT_NEAR(*progress.seconds_left(0, 104.0), 7.0, 1e-9);
  // This run will have taken 3 + 8 seconds; so will the two that wait.
  EXPECT_NEAR(*progress.seconds_left(103.0), 8.0 + 2 * 11.0, 1e-9);
  auto ended = testing::fake_run("lehi", 0.1, 0, 0.3);
  progress.ended(0, ended, 110.0);
  EXPECT_NEAR(*progress.seconds_left(110.0), 2 * 10.0, 1e-9);
}

TEST(StudyProgress, RedrawsInPlaceOnATerminalOnly) {
  const std::vector<StudyRun> runs = {testing::fake_run("lehi", 0.1, 0, 0.3)};
  std::ostringstream live;
  StudyProgress terminal(live, {.live = true, .width = 40}, 1, runs);
  terminal.started(0, 0.0);
  terminal.tick(0.0);
  terminal.reported(0, {.step = 1, .total = 2, .epoch = 1, .train_loss = 0.5}, 0.1);
  terminal.tick(0.1);  // too early
  terminal.tick(1.0);
  EXPECT_THAT(live.str(), HasSubstr("\x1b[2A"));
  std::istringstream lines(live.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 40U + 8U) << "longer lines would wrap";
  std::ostringstream plain;
  StudyProgress file(plain, {}, 1, runs);
  file.started(0, 0.0);
  for (int i = 0; i < 100; ++i) file.tick(0.25 * i);
  const auto text = plain.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;  // started, and one line every ten seconds
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lehi::study
