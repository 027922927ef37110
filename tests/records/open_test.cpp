// This version opens, resumes, reports and converts the records of every version.
#include <gmock/gmock.h>

#include <cctype>
#include <utility>

#include "cli/table.h"
#include "records/records.h"
#include "support/support.h"
#include "train/checkpoint.h"
#include "train/metrics_log.h"
#include "train/run.h"
#include "train/weights.h"

namespace lehi::records {
namespace {

using lehi::testing::relative_difference;
using lehi::testing::same_bits;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Matrix products round differently on another processor than the record's. After 25 steps the difference is far below
// this tolerance; losing the momentum changes the model's tensors by about forty times as much.
constexpr double rounding = 1e-4;

/// "v0_1": a test's name may contain letters, digits and _ only.
std::string version_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = "v" + info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, Records, ::testing::ValuesIn(versions()), version_name);

TEST(Versions, BeginWithTheFirst) { EXPECT_THAT(versions(), Contains("0.1")); }

TEST_P(Records, AFinishedRunIsShown) {
  for (const std::string name : {"run", "language"}) {
    const auto before = files_below(name);
    const auto shown = resume(name);
    ASSERT_EQ(shown.code, cli::done) << shown.err;
    EXPECT_THAT(shown.err, HasSubstr("has already ended"));
    EXPECT_EQ(shown.out, before.at("run.json"));
    const auto result = shown.json().at("result");
    const auto lines = train::read_metrics(path(name) / "metrics.jsonl");
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back().at("test_loss"), result.at("test_loss"));
    EXPECT_EQ(lines.back().at("step"), result.at("steps"));
    const auto summary = cli::run({"train", "--resume", "--out", at(name)}).out;
    EXPECT_THAT(summary, HasSubstr("done"));
    for (const char* key : {"test_loss", "train_loss"}) {
      EXPECT_THAT(summary, HasSubstr(cli::short_number(result.at(key).get<double>(), 6))) << key;
    }
    EXPECT_EQ(files_below(name), before);
  }
}

TEST_P(Records, AResumedRunEqualsAnUninterruptedOne) {
  const auto before = train::read_run_record(path("stopped") / "run.json");
  ASSERT_EQ(before.status, train::RunStatus::interrupted);
  const auto stopped_at = before.result.at("steps").get<std::int64_t>();
  auto config = train::read_config(path("stopped") / "config.toml");
  ASSERT_GT(config.steps, stopped_at);

  const auto resumed = resume("stopped");
  ASSERT_EQ(resumed.code, cli::done) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr(fmt::format("resuming at step {} of {}", stopped_at, config.steps)));
  const auto record = train::read_run_record(path("stopped") / "run.json");
  EXPECT_EQ(record.status, train::RunStatus::done);
  EXPECT_EQ(record.result.at("steps"), config.steps);
  EXPECT_THAT(record.sessions, ElementsAre(0, stopped_at));
  EXPECT_EQ(record.started, before.started);
  EXPECT_EQ(record.command_line, before.command_line);

  config.checkpoint_every = 0;  // a checkpoint takes longer than all steps
  train::RunRequest whole;
  whole.config = config;
  whole.out = path("whole");
  whole.on_progress = [](const train::RunProgress&) {};
  whole.on_message = [](const std::string&) {};
  ASSERT_EQ(train::run_training(whole).record.status, train::RunStatus::done);
  const auto one = train::load_checkpoint(path(checkpoint_of("stopped")));
  const auto two = train::load_checkpoint(path(checkpoint_of("whole")));
  for (const auto& [left, right] : {std::pair(one.model, two.model), std::pair(one.optimizer, two.optimizer)}) {
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].first, right[i].first);
      ASSERT_EQ(left[i].second.sizes(), right[i].second.sizes());
      EXPECT_LE(relative_difference(left[i].second, right[i].second), rounding) << left[i].first;
    }
  }
  const auto lines = train::read_metrics(path("stopped") / "metrics.jsonl");
  const auto expected = train::read_metrics(path("whole") / "metrics.jsonl");
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("step"), expected[i].at("step"));
    for (const char* key : {"test_loss", "train_loss"}) {
      const double value = expected[i].at(key);
      EXPECT_NEAR(lines[i].at(key).get<double>(), value, rounding * value) << key << " of line " << i + 1;
    }
  }
}

TEST_P(Records, AFinishedStudyIsReportedAndNotRepeated) {
  const auto study = get_json("study/study.json");
  const auto before = files_below("study");
  const auto report = cli::run({"report", at("study"), "--csv", at("runs.csv"), "--markdown", at("report.md"),
                                "--latex", at("report.tex"), "--out", at("report.html"), "--svg", at("figures")});
  ASSERT_EQ(report.code, cli::done) << report.err;
  EXPECT_EQ(files_below("study"), before);
  const auto table = get("runs.csv");
  for (const auto& entry : study.at("runs")) {
    EXPECT_THAT(table, HasSubstr(entry.at("directory").get<std::string>()));
    EXPECT_THAT(table, HasSubstr(fmt::format("{}", entry.at("window_mean").get<double>())));
    EXPECT_THAT(get("report.html"), HasSubstr(entry.at("directory").get<std::string>()));
  }

  // No run is left: this process could not start one.
  const auto kind = study.at("kind").get<std::string>();
  const auto resumed = cli::run({kind, "--resume", "--out", at("study"), "--jobs", "1", "--json"});
  ASSERT_EQ(resumed.code, cli::done) << resumed.err;
  const auto shown = resumed.json();
  ASSERT_EQ(shown.at("runs").size(), study.at("runs").size());
  for (std::size_t i = 0; i < study.at("runs").size(); ++i) {
    const auto& now = shown.at("runs")[i];
    const auto& then = study.at("runs")[i];
    for (const char* key : {"directory", "status", "metric", "seed", "steps", "seconds"}) {
      EXPECT_EQ(now.at(key), then.at(key)) << key;
    }
    EXPECT_DOUBLE_EQ(now.at("window_mean").get<double>(), then.at("window_mean").get<double>());
    EXPECT_DOUBLE_EQ(now.at("score").get<double>(), then.at("score").get<double>());
    const auto folder = then.at("directory").get<std::string>();
    for (const auto& [name, bytes] : files_below("study/" + folder)) EXPECT_EQ(bytes, before.at(folder + "/" + name));
  }
}

TEST_P(Records, AStoppedStudyResumesWithTheRemainingRuns) {
  const auto study = get_json("stopped-study/study.json");
  ASSERT_TRUE(study.at("finished").is_null());
  const auto report = cli::run({"report", at("stopped-study"), "--csv", at("runs.csv")});
  ASSERT_EQ(report.code, cli::done) << report.err;
  std::map<std::string, std::map<std::string, std::string>> finished;  // files, by run
  std::map<std::string, std::int64_t> steps_before;
  for (const auto& entry : study.at("runs")) {
    const auto folder = entry.at("directory").get<std::string>();
    const auto status = entry.at("status").get<std::string>();
    EXPECT_THAT(get("runs.csv"), HasSubstr(status));
    if (status == "done") finished[folder] = files_below("stopped-study/" + folder);
    steps_before[folder] = status == "interrupted" ? entry.at("result").at("steps").get<std::int64_t>() : 0;
  }
  EXPECT_FALSE(finished.empty());
  EXPECT_LT(finished.size(), steps_before.size());

  const auto kind = study.at("kind").get<std::string>();
  const auto resumed =
      cli::run_process(fmt::format("\"$LEHI\" {} --resume --jobs 2 --out '{}' 2>&1", kind, at("stopped-study")));
  ASSERT_EQ(resumed.code, cli::done) << resumed.out;
  const auto after = get_json("stopped-study/study.json");
  EXPECT_TRUE(after.at("finished").is_string());
  EXPECT_EQ(after.at("started"), study.at("started"));
  for (const auto& entry : after.at("runs")) {
    const auto folder = entry.at("directory").get<std::string>();
    EXPECT_EQ(entry.at("status"), "done") << folder;
    EXPECT_EQ(entry.at("steps"), train::read_config(path("stopped-study/" + folder) / "config.toml").steps) << folder;
    if (finished.count(folder) != 0) {
      EXPECT_EQ(files_below("stopped-study/" + folder), finished[folder]) << folder << " was repeated";
      continue;
    }
    const auto sessions = train::read_run_record(path("stopped-study/" + folder) / "run.json").sessions;
    if (steps_before[folder] > 0) {
      EXPECT_THAT(sessions, ElementsAre(0, steps_before[folder])) << folder;
    } else {
      EXPECT_THAT(sessions, ElementsAre(0)) << folder;
    }
  }
}

TEST_P(Records, WeightsAreConvertedEvaluatedAndUsedAsAStart) {
  const auto record = get_json("language/run.json");
  const auto weights = at(checkpoint_of("language"));
  const auto convert = [&](const std::string& from, const std::string& to, cli::Arguments more = {}) {
    more.insert(more.begin(), {"convert", from, to});
    const auto result = cli::run(more);
    EXPECT_EQ(result.code, cli::done) << result.err;
  };
  convert(weights, at("llmc.bin"));
  convert(at("llmc.bin"), at("back/"));
  convert(weights, at("half/"), {"--dtype", "bfloat16"});
  convert(at("half/"), at("full/"), {"--dtype", "float32"});
  const auto original = train::open_weights(weights).tensors;
  const auto expect_tensors = [&](const std::string& folder, double tolerance) {
    const auto copies = train::open_weights(path(folder)).tensors;
    ASSERT_EQ(copies.size(), original.size());
    for (const auto& tensor : original) {
      const auto same = std::find_if(copies.begin(), copies.end(),
                                     [&](const auto& candidate) { return candidate.name == tensor.name; });
      ASSERT_NE(same, copies.end()) << tensor.name;
      if (tolerance == 0.0) {
        EXPECT_TRUE(same_bits(same->read(), tensor.read())) << tensor.name;
      } else {
        EXPECT_LE(relative_difference(same->read(), tensor.read()), tolerance) << tensor.name;
      }
    }
  };
  expect_tensors("back", 0.0);
  constexpr double bfloat16 = 1.0 / 256;  // its significand has 8 bits
  expect_tensors("full", bfloat16);

  const auto recorded = record.at("result").at("test_loss").get<double>();
  const auto task = record.at("task").get<std::string>();
  const auto loss_of = [&](const std::string& which) {
    const auto result = cli::run({"eval", task, "--config", at("language/config.toml"), "--weights", which, "--json"});
    EXPECT_EQ(result.code, cli::done) << which << ": " << result.err;
    return result.code == cli::done ? result.json().at("test").at("loss").get<double>() : -1.0;
  };
  const double loss = loss_of(weights);
  EXPECT_NEAR(loss, recorded, rounding * recorded);
  EXPECT_EQ(loss_of(at("back")), loss);
  EXPECT_EQ(loss_of(at("llmc.bin")), loss);
  EXPECT_NEAR(loss_of(at("full")), recorded, bfloat16 * recorded);

  // One step with a learning rate that changes nothing.
  const auto started = cli::run({"train", task, "--config", at("language/config.toml"), "--init-from", weights, "--lr",
                                 "1e-12", "--steps", "1", "--out", at("started"), "--progress", "none", "--json"});
  ASSERT_EQ(started.code, cli::done) << started.err;
  EXPECT_NEAR(started.json().at("result").at("test_loss").get<double>(), recorded, rounding * recorded);
}

}  // namespace
}  // namespace lehi::records
