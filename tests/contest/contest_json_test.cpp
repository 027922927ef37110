#include "contest/contest_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "contest/batches.h"
#include "files/files.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::contest {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

Result example_result() {
  ArmResult arm;
  arm.arm = "lehi-kron[mix=gradient]";
  arm.label = "v from g only";
  arm.optimizer = "lehi-kron[mix=gradient,sides=both]";
  arm.control = true;
  arm.trials = {{1e-3, "", 0.5}, {1e-2, "", NAN}, {1e-3, "optimizer.beta2=0.9", 0.4}};
  arm.lr = 1e-3;
  arm.knob = "optimizer.beta2=0.9";
  arm.rate_at_edge = true;
  arm.time = {.ratio = 1.5, .low = 1.25, .high = 1.75, .seconds = 0.01};
  arm.steps = 267;
  arm.values = {{100, 1.25}, {101, NAN}};
  arm.speed_up = SpeedUp{.points = {{0.5, {{100, 1.5}}}}, .steps_fraction = 0.5, .seconds_fraction = 0.75};
  auto open = arm;
  open.arm = "muon";
  open.speed_up->steps_fraction.reset();
  open.speed_up->seconds_fraction.reset();
  auto without = arm;
  without.arm = "adamw";
  without.speed_up.reset();
  Result result;
  result.lehi_version = "0.2";
  result.started = "2024-05-06T07:08:09Z";
  result.machine = "2 cores";
  result.command_line = {"lehi", "contest", "\xff"};
  result.question = {"muon", {"soap"}, {"adam", "adamw"}};
  result.tasks = {{.name = "gpt",
                   .title = "GPT",
                   .group = "batch",
                   .batch_size = 16,
                   .parameters = 1000,
                   .metric = "test_loss",
                   .tuning_metric = "validation_loss",
                   .baseline = "adamw",
                   .steps = 400,
                   .effect = 0.01,
                   .arms = {arm, open, without}}};
  result.missing = {"gpt: lion has not been run"};
  return result;
}

TEST(ContestJson, AFileHoldsEverything) {
  const testing::Scratch scratch;
  const auto result = example_result();
  write_result(scratch / "", result);
  const auto read = read_result(scratch / "");
  EXPECT_EQ(to_json(read).dump(), to_json(result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto& arm = read.tasks.at(0).arms.at(0);
  EXPECT_TRUE(std::isnan(arm.trials[1].value)) << "diverged";
  EXPECT_EQ(arm.trials[2].knob, "optimizer.beta2=0.9");
  EXPECT_EQ(arm.time.high, 1.75);
  EXPECT_EQ(arm.values[0].seed, 100U);
  EXPECT_EQ(arm.speed_up->points[0].values[0].value, 1.5);
  EXPECT_EQ(arm.speed_up->seconds_fraction, 0.75);
  EXPECT_FALSE(read.tasks[0].arms[1].speed_up->steps_fraction);
  EXPECT_FALSE(read.tasks[0].arms[2].speed_up);
  EXPECT_EQ(read.finished, "");
  EXPECT_THAT(read.question.classics, ElementsAre("adam", "adamw"));
}

TEST(ContestJson, ADamagedFileIsDescribed) {
  const testing::Scratch scratch;
  EXPECT_THAT(message_of([&] { read_result(scratch / ""); }), HasSubstr("has no contest.json"));
  const auto good =
      nlohmann::json::parse(to_json(example_result()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto error = [&](const char* pointer, const nlohmann::json& value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return message_of([&] { result_from(bad, "c.json"); });
  };
  EXPECT_EQ(message_of([&] { result_from(good, "c.json"); }), "");
  EXPECT_THAT(error("/schema", 2), AllOf(HasSubstr("'schema' is 2"), HasSubstr("c.json")));
  EXPECT_THAT(error("/tasks", "none"), HasSubstr("c.json: 'tasks' must be a list"));
  EXPECT_THAT(error("/tasks/0/arms/1/steps", -1), HasSubstr("c.json, tasks 1, arms 2: 'steps'"));
  EXPECT_THAT(error("/tasks/0/arms/0/control", 1), HasSubstr("'control' must be true or false"));
  EXPECT_THAT(error("/tasks/0/arms/0/trials/0/lr", nullptr), HasSubstr("'lr'"));
  EXPECT_THAT(error("/tasks/0/arms/0/speed_up", 3), HasSubstr("'speed_up'"));
  EXPECT_THAT(error("/question", "why"), HasSubstr("'question'"));
  auto short_of = good;
  short_of["tasks"][0]["arms"][0].erase("time");
  EXPECT_THAT(message_of([&] { result_from(short_of, "c.json"); }), HasSubstr("'time'"));
}

TEST(ContestJson, ATruncatedFileIsAnErrorAndNoChangedByteCrashes) {
  const testing::Scratch scratch;
  write_result(scratch / "", example_result());
  const auto path = scratch / kResultFile;
  const auto text = testing::slurp(path);
  testing::spill(path, text.substr(0, text.rfind('}') + 1));  // without the line's end, which may be missing
  const auto read = [&] { read_result(scratch / ""); };
  testing::expect_every_truncation_throws(path, read);
  testing::expect_no_changed_byte_crashes(path, read);
}

TEST(ContestBatches, AreReadAsWritten) {
  const testing::Scratch scratch;
  EXPECT_TRUE(Batches::read(scratch / "").arms().empty());
  Batches batches;
  batches.add("rates", {"adamw", "lion"});
  batches.add("rates", {"muon"});
  batches.add("speed", {"muon"});
  batches.write(scratch / "");
  const auto read = Batches::read(scratch / "");
  EXPECT_EQ(read.of("rates"), batches.of("rates"));
  EXPECT_TRUE(read.contains("speed", "muon"));
  EXPECT_FALSE(read.contains("speed", "lion"));
  EXPECT_FALSE(read.contains("knob", "muon"));
  EXPECT_THAT(read.arms(), ElementsAre("adamw", "lion", "muon"));
  EXPECT_EQ(batch_directory("rates", 0), "rates");
  EXPECT_EQ(batch_directory("rates", 2), "rates-3");
  for (const char* bad : {"{}", R"({"schema":2,"phases":{}})", R"({"schema":1,"phases":{"rates":"all"}})",
                          R"({"schema":1,"phases":{"rates":[[]]}})", R"({"schema":1,"phases":{"rates":[["a",1]]}})"}) {
    testing::spill(scratch / Batches::kFile, bad);
    EXPECT_THAT(message_of([&] { Batches::read(scratch / ""); }), HasSubstr("phases.json")) << bad;
  }
}

}  // namespace
}  // namespace lehi::contest
