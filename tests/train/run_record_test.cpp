#include "train/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <limits>

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

RunRecord example() {
  RunRecord record;
  record.git_hash = "d84c814";
  record.host_name = "box";
  record.host = {"CPU 9000", "amd", 25, "avx2", 2, 1'000'000'000'000, "openblas", "Zen", "1.13.1", 2};
  record.command_line = {"lehi", "train", "mnist", "--lr", "1e-3"};
  record.status = RunStatus::diverged;
  record.message = "the loss was NaN at step 7";
  record.task = "mnist";
  record.preset = "paper";
  record.optimizer = "lehi";
  record.lr = 0.1;
  record.seed = std::numeric_limits<std::uint64_t>::max();
  record.parameters = 39760;
  record.started = "2024-05-06T07:08:09Z";
  record.finished = "2024-05-06T08:00:00Z";
  record.result = {{"test_accuracy", 0.1}, {"test_loss", nullptr}};
  record.sessions = {0, 4000};
  record.notices = {"fewer records than the official set"};
  return record;
}

TEST(RunRecord, IsReadAsItWasWritten) {
  const Scratch scratch;
  const auto path = scratch / "run.json";
  write_run_record(path, example());
  const auto text = slurp(path);
  const auto record = read_run_record(path);
  write_run_record(path, record);
  EXPECT_EQ(slurp(path), text);
  EXPECT_EQ(record.status, RunStatus::diverged);
  EXPECT_EQ(record.host.memory_bytes, 1'000'000'000'000);
  EXPECT_EQ(record.host.blas_kernel, "Zen");
  EXPECT_EQ(record.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(record.lr, 0.1);
  EXPECT_EQ(record.result, example().result);
  EXPECT_THAT(record.sessions, ElementsAre(0, 4000));
  EXPECT_THAT(scratch.names(), ElementsAre("run.json"));
}

TEST(RunRecord, HasThisJson) {
  const Scratch scratch;
  auto record = example();
  record.status = RunStatus::running;
  record.finished = "";
  record.lehi_version = "9.9.9";
  write_run_record(scratch / "run.json", record);
  EXPECT_EQ(json::parse(slurp(scratch / "run.json")), json::parse(R"({
    "schema": 1, "lehi_version": "9.9.9", "git_hash": "d84c814",
    "host": {"name": "box", "cpu": "CPU 9000", "vendor": "amd", "vector_units": "avx2", "cores": 2, "memory_bytes": 1000000000000,
             "blas": "openblas", "blas_kernel": "Zen", "torch_version": "1.13.1", "torch_threads": 2},
    "command_line": ["lehi", "train", "mnist", "--lr", "1e-3"], "status": "running",
    "message": "the loss was NaN at step 7", "task": "mnist", "preset": "paper", "optimizer": "lehi", "lr": 0.1,
    "seed": 18446744073709551615, "parameters": 39760, "started": "2024-05-06T07:08:09Z", "finished": null,
    "sessions": [0, 4000], "result": {"test_accuracy": 0.1, "test_loss": null}, "notices": ["fewer records than the official set"]})"));
  EXPECT_EQ(read_run_record(scratch / "run.json").finished, "");
}

TEST(RunRecord, EveryStatusHasItsName) {
  const Scratch scratch;
  auto record = example();
  for (const auto& [status, name] :
       std::initializer_list<std::pair<RunStatus, const char*>>{{RunStatus::running, "running"},
                                                                {RunStatus::done, "done"},
                                                                {RunStatus::diverged, "diverged"},
                                                                {RunStatus::interrupted, "interrupted"},
                                                                {RunStatus::failed, "failed"}}) {
    record.status = status;
    write_run_record(scratch / "run.json", record);
    EXPECT_EQ(json::parse(slurp(scratch / "run.json"))["status"], name);
    EXPECT_EQ(read_run_record(scratch / "run.json").status, status);
    EXPECT_EQ(status_name(status), name);
  }
}

TEST(RunRecord, AcceptsACommandLineOfAnyBytes) {
  const Scratch scratch;
  auto record = example();
  record.command_line = {"lehi", "\xff\xfe"};
  write_run_record(scratch / "run.json", record);
  EXPECT_THAT(read_run_record(scratch / "run.json").command_line, ElementsAre("lehi", "\xef\xbf\xbd\xef\xbf\xbd"));
}

TEST(RunRecord, NamesFileAndKeyOfEveryMissingOrWrongValue) {
  const Scratch scratch;
  const auto path = scratch / "run.json";
  write_run_record(path, example());
  const auto document = json::parse(slurp(path));
  const auto message = [&](const json& changed) {
    spill(path, changed.dump());
    return message_of([&] { read_run_record(path); });
  };
  for (const auto& [key, value] : document.items()) {
    if (key == "sessions") continue;  // records of earlier versions have none
    auto changed = document;
    changed.erase(key);
    EXPECT_THAT(message(changed), AllOf(HasSubstr(path.string()), HasSubstr("the key '" + key + "' is missing")));
    changed[key] = json::array({1});
    EXPECT_THAT(message(changed), AllOf(HasSubstr(path.string()), HasSubstr("'" + key + "'"))) << key;
  }
  for (const auto& [key, value] : document["host"].items()) {
    auto changed = document;
    changed["host"].erase(key);
    EXPECT_THAT(message(changed), AllOf(HasSubstr("'host'"), HasSubstr("the key '" + key + "' is missing")));
  }
  auto changed = document;
  changed["status"] = "sleeping";
  EXPECT_THAT(message(changed), HasSubstr("'status' is \"sleeping\", expected running, done"));
  changed = document;
  changed["schema"] = 2;
  EXPECT_THAT(message(changed), HasSubstr("'schema' is 2, this lehi reads 1"));
  for (const auto& wrong : {json(3), json::array({-1}), json::array({"start"})}) {
    changed = document;
    changed["sessions"] = wrong;
    EXPECT_THAT(message(changed), HasSubstr("'sessions' is not a list of steps"));
  }
  changed = document;
  changed.erase("sessions");
  EXPECT_EQ(message(changed), "");
  changed = document;
  changed["seed"] = -1;
  EXPECT_THAT(message(changed), HasSubstr("'seed' is -1"));
  changed = document;
  changed["started"] = "yesterday";
  EXPECT_THAT(message(changed), AllOf(HasSubstr("'started'"), HasSubstr("\"yesterday\" is not a time")));
}

TEST(RunRecord, EveryTruncationThrowsAndNoChangedByteCrashes) {
  const Scratch scratch;
  const auto path = scratch / "run.json";
  write_run_record(path, example());
  lehi::testing::expect_no_changed_byte_crashes(path, [&] { read_run_record(path); });
  auto text = slurp(path);
  text.pop_back();  // the last newline is not needed
  spill(path, text);
  lehi::testing::expect_every_truncation_throws(path, [&] { read_run_record(path); });
}

TEST(RunRecord, TimesAreUtc) {
  EXPECT_EQ(unix_time("1970-01-02T00:00:01Z", "x"), 86401.0);
  EXPECT_EQ(unix_time("2024-02-29T12:00:00Z", "x"), 1709208000.0);
  const auto before = static_cast<double>(std::time(nullptr));
  const auto now = unix_time(utc_now(), "x");
  EXPECT_GE(now, before);
  for (const char* text : {"", "2024-05-06", "2024-05-06T07:08:09", "2024-13-06T07:08:09Z", "2024-05-06T07:08:09Z "}) {
    EXPECT_THROW(unix_time(text, "x"), FileError) << text;
  }
}

// Earlier they were truncated to 32 bits or became negative, and the record could not be read after it was rewritten.
TEST(RunRecordFile, CountsThatExceedTheirTypeThrow) {
  const Scratch scratch;
  write_run_record(scratch / "run.json", example());
  auto document = json::parse(slurp(scratch / "run.json"));
  const auto message = [&](const json& changed) {
    spill(scratch / "run.json", changed.dump());
    return message_of([&] { read_run_record(scratch / "run.json"); });
  };
  auto cores = document;
  cores["host"]["cores"] = std::int64_t{1} << 40;
  EXPECT_THAT(message(cores), HasSubstr("'cores' is 1099511627776"));
  auto sessions = document;
  sessions["sessions"] = {0, std::numeric_limits<std::uint64_t>::max()};
  EXPECT_THAT(message(sessions), HasSubstr("'sessions' is 18446744073709551615"));
}

TEST(RunRecord, RoundingDifferencesAreNamed) {
  const auto before = example().host;
  auto now = before;
  now.cpu = "another name";
  EXPECT_EQ(rounding_differences(before, now), "");
  now.torch_threads = 1;
  now.blas_kernel = "Haswell";
  EXPECT_EQ(rounding_differences(before, now),
            "the run began on a machine that rounds differently, so its last bits may differ from here on: "
            "threads: 1 instead of 2, BLAS kernel Haswell instead of Zen");
  now = before;
  now.blas = "mkl";
  now.blas_kernel = "";
  EXPECT_THAT(rounding_differences(before, now), HasSubstr("from here on: BLAS mkl instead of openblas"));
}

}  // namespace
}  // namespace lehi::train
