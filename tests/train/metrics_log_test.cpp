#include "train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/support.h"
#include "train/scratch.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kLine1 = "{\"loss\":0.5,\"step\":10}\n";
const std::string kLine2 = "{\"loss\":0.25,\"step\":20}\n";
const std::string kLine3 = "{\"loss\":null,\"step\":30}\n";

TEST(MetricsLog, HasOneLinePerEvaluation) {
  const Scratch scratch;
  auto log = MetricsLog::create(scratch / "metrics.jsonl");
  log.append({{"step", 10}, {"loss", 0.5}});
  log.append({{"step", 20}, {"loss", 0.25}});
  log.append({{"step", 30}, {"loss", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(slurp(scratch / "metrics.jsonl"), kLine1 + kLine2 + kLine3);  // on disk at once, without a flush
  const auto lines = read_metrics(scratch / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["loss"].get<double>(), 0.25);
}

TEST(MetricsLog, ANewLogReplacesAnOldOne) {
  const Scratch scratch;
  spill(scratch / "metrics.jsonl", kLine1);
  MetricsLog::create(scratch / "metrics.jsonl").append({{"step", 10}, {"loss", 0.5}});
  EXPECT_EQ(slurp(scratch / "metrics.jsonl"), kLine1);
}

TEST(MetricsLog, ResumedAfterAKillAtAnyByteHasEveryLineOnce) {
  const Scratch scratch;
  const auto path = scratch / "metrics.jsonl";
  const auto whole = kLine1 + kLine2 + kLine3;
  // Line 1 is written before the checkpoint of step 10, so a kill leaves at least that line.
  for (std::size_t size = kLine1.size(); size <= whole.size(); ++size) {
    spill(path, whole.substr(0, size));
    auto log = MetricsLog::resume(path, 10);
    EXPECT_EQ(slurp(path), kLine1) << size;
    EXPECT_THAT(log.kept(), ElementsAre(json::parse(kLine1)));
    log.append({{"step", 20}, {"loss", 0.25}});
    log.append({{"step", 30}, {"loss", nullptr}});
    EXPECT_EQ(slurp(path), whole) << size;
  }
  EXPECT_THAT(scratch.names(), ElementsAre("metrics.jsonl"));
}

TEST(MetricsLog, KeepsTheLinesUpToTheCheckpointsStep) {
  const Scratch scratch;
  const auto path = scratch / "metrics.jsonl";
  const auto whole = kLine1 + kLine2 + kLine3;
  for (const auto& [step, kept] : std::initializer_list<std::pair<int, std::string>>{{0, ""},
                                                                                     {10, kLine1},
                                                                                     {19, kLine1},
                                                                                     {20, kLine1 + kLine2},
                                                                                     {29, kLine1 + kLine2},
                                                                                     {30, whole},
                                                                                     {99, whole}}) {
    spill(path, whole);
    MetricsLog::resume(path, step);
    EXPECT_EQ(slurp(path), kept) << step;
  }
}

TEST(MetricsLog, ReadingSkipsAnIncompleteLastLine) {
  const Scratch scratch;
  for (std::size_t size = 0; size < kLine2.size(); ++size) {
    spill(scratch / "m", kLine1 + kLine2.substr(0, size));
    EXPECT_EQ(read_metrics(scratch / "m").size(), 1u) << size;
  }
}

TEST(MetricsLog, StepsMustIncrease) {
  const Scratch scratch;
  spill(scratch / "m", kLine1);
  auto log = MetricsLog::resume(scratch / "m", 10);
  EXPECT_THAT(message_of([&] {
                log.append({{"step", 10}});
              }),
              HasSubstr("metrics of step 10 cannot be appended after those of step 10"));
  EXPECT_THROW(log.append({{"loss", 1}}), FileError);
  EXPECT_EQ(slurp(scratch / "m"), kLine1);
}

TEST(MetricsLog, NamesFileAndLineOfDamage) {
  const Scratch scratch;
  const auto path = scratch / "m";
  const auto damage = [&](const std::string& line) {
    spill(path, kLine1 + line + "\n" + kLine3);
    return message_of([&] { read_metrics(path); });
  };
  const auto place = path.string() + ", line 2";
  EXPECT_THAT(damage("{"), AllOf(HasSubstr(place), HasSubstr("not valid JSON")));
  EXPECT_THAT(damage(""), AllOf(HasSubstr(place), HasSubstr("not valid JSON")));
  EXPECT_THAT(damage("[]"), AllOf(HasSubstr(place), HasSubstr("not a JSON object")));
  EXPECT_THAT(damage("{}"), AllOf(HasSubstr(place), HasSubstr("'step' is missing")));
  EXPECT_THAT(damage(R"({"step":"20"})"), AllOf(HasSubstr(place), HasSubstr("expected an integer")));
  EXPECT_THAT(damage(R"({"step":10})"), AllOf(HasSubstr(place), HasSubstr("step 10 comes after step 10")));
  EXPECT_THAT(damage(std::string(100000, '[')), AllOf(HasSubstr(place), HasSubstr("deeper than")));
}

TEST(MetricsLog, NoChangedByteCrashes) {
  const Scratch scratch;
  spill(scratch / "m", kLine1 + kLine2 + kLine3);
  lehi::testing::expect_no_changed_byte_crashes(scratch / "m",
                                                [&] { EXPECT_LE(read_metrics(scratch / "m").size(), 3u); });
}

TEST(MetricsLog, AMissingLogCannotBeResumed) {
  const Scratch scratch;
  EXPECT_THAT(message_of([&] { MetricsLog::resume(scratch / "m", 5); }), HasSubstr("does not exist"));
}

}  // namespace
}  // namespace lehi::train
