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

TEST(StudyProgress, CountsRunsThatAreAddedLater) {
  std::ostringstream err;
  std::vector<StudyRun> runs(2, testing::fake_run("lehi", 0.1, 0, 0.3));
  for (auto& entry : runs) entry.status.reset();
  runs[1].task = "mnist";
  const std::vector<StudyRun> later(3, runs[0]);
  StudyProgress progress(err, {}, 1, runs, later);
  progress.started(0, 0.0);
  progress.reported(0, {.step = 0, .total = 100}, 0.0);
  progress.reported(0, {.step = 10, .total = 100},
                    1.0);  // ten seconds in all; the four others are expected to take as long
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
  EXPECT_NEAR(*progress.seconds_left(15.0), 10.0, 1e-9) << "one of the three expected runs was added";
}

TEST(StudyProgress, ParsesProgressLinesOnly) {
  const auto line = parse_progress_line(R"({"step":123,"total":11725,"epoch":3,"seconds":1.9,"train_loss":0.41})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->step, 123);
  EXPECT_EQ(line->total, 11725);
  EXPECT_EQ(line->epoch, 3);
  EXPECT_EQ(line->train_loss, 0.41);
  EXPECT_TRUE(std::isnan(parse_progress_line(R"({"step":1,"total":2,"train_loss":null})")->train_loss));
  for (const auto* other : {"", "hello", "{", "[1]", R"({"step":1})", R"({"step":-1,"total":2})",
                            R"({"step":"1","total":2})", R"({"step":1,"total":0})"}) {
    EXPECT_FALSE(parse_progress_line(other)) << other;
  }
}

TEST(StudyProgress, EstimatesTheTimeLeft) {
  std::ostringstream err;
  std::vector<StudyRun> runs(3, testing::fake_run("lehi", 0.1, 0, 0.3));
  for (auto& entry : runs) entry.status.reset();
  StudyProgress progress(err, {}, 1, runs);
  EXPECT_FALSE(progress.seconds_left(0.0));
  progress.started(0, 100.0);
  progress.reported(0, {.step = 0, .total = 100}, 101.0);
  EXPECT_FALSE(progress.seconds_left(0, 101.0)) << "one line gives no speed";
  progress.reported(0, {.step = 20, .total = 100}, 103.0);  // 10 steps per second: 8 seconds for 80 steps
  EXPECT_NEAR(*progress.seconds_left(0, 103.0), 8.0, 1e-9);
  EXPECT_NEAR(*progress.seconds_left(0, 104.0), 7.0, 1e-9);
  // This run takes 3 + 8 seconds, and so do the two that wait.
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
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;  // "started", and a line every ten seconds
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lehi::study
