// Keys that another version has added or not had: a missing key has its default; a record with an unknown key can be
// shown but not resumed, with one error message.
#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "lehi/options.h"
#include "lehi/version.h"
#include "records/records.h"
#include "support/support.h"
#include "train/config.h"
#include "train/crc32c.h"
#include "train/json_file.h"
#include "train/metrics_log.h"
#include "train/run_record.h"

namespace lehi::records {
namespace {

using lehi::testing::message_of;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The values of a config.toml by their full keys: train.steps.
std::map<std::string, std::string> values_of(const std::string& toml) {
  std::map<std::string, std::string> values;
  std::string section;
  std::istringstream lines(toml);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    const auto equals = line.find(" = ");
    if (equals != std::string::npos) values[section + line.substr(0, equals)] = line.substr(equals + 3);
  }
  return values;
}

std::string without_key(const std::string& toml, const std::string& key) {
  std::string kept;
  std::string section;
  std::istringstream lines(toml);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    const auto equals = line.find(" = ");
    if (equals == std::string::npos || section + line.substr(0, equals) != key) kept += line + "\n";
  }
  return kept;
}

/// state.json with a valid checksum.
std::string with_checksum(json document) {
  document.erase("crc32c");
  document["crc32c"] = fmt::format("{:08x}", train::crc32c(train::to_text(document)));
  return train::to_text(document, 2) + "\n";
}

void expect_one_message(const cli::Result& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.code, cli::bad_input) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(StartsWith("lehi: "), EndsWith("\n")));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const auto& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

TEST_P(Records, AMissingKeyOfAConfigurationHasItsDefault) {
  const auto text = get("stopped/config.toml");
  const auto opened = train::from_toml(text, "config.toml");
  train::RunConfig plain;
  plain.optimizer = preset(opened.optimizer.name);
  const auto defaults = values_of(train::to_toml(plain));
  const std::set<std::string> required = {"task", "seed", "optimizer.name", "optimizer.lr", "judge.cut"};
  for (const auto& [key, about] : train::config_keys()) {
    const auto shorter = without_key(text, key);
    if (required.count(key) != 0) {
      EXPECT_THAT(message_of([&] { train::from_toml(shorter, "a/config.toml"); }),
                  AllOf(HasSubstr("a/config.toml"), HasSubstr("the key " + key + " is missing")));
      continue;
    }
    if (key == "train.steps") {  // a run's length has no default
      EXPECT_THAT(message_of([&] { train::from_toml(shorter, "a/config.toml"); }),
                  AllOf(HasSubstr("a/config.toml"), HasSubstr("train.epochs and train.steps are both 0")));
      continue;
    }
    auto expected = values_of(train::to_toml(opened));
    expected.at(key) = defaults.at(key);
    EXPECT_EQ(values_of(train::to_toml(train::from_toml(shorter, "config.toml"))), expected) << key;
  }
}

// In version 0.1 weight decay was decoupled in every optimizer.
TEST_P(Records, WeightDecayOfARunWithoutTheKeyStaysDecoupled) {
  auto text = without_key(get("stopped/config.toml"), "optimizer.decay");
  const auto replace_line = [&text](const std::string& start, const std::string& line) {
    const auto at = text.find(start);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, text.find('\n', at) - at, line);
  };
  replace_line("name = ", "name = \"adam\"");
  EXPECT_EQ(train::from_toml(text, "x").optimizer.recipe.decay, Decay::coupled) << "no decay: the preset's own";
  replace_line("weight_decay = ", "weight_decay = 0.1");
  EXPECT_EQ(train::from_toml(text, "x").optimizer.recipe.decay, Decay::decoupled);
}

TEST_P(Records, ATruncatedConfigurationThrows) {
  const auto text = get("stopped/config.toml");
  const auto last = text.rfind("cut = ");
  ASSERT_NE(last, std::string::npos);
  for (std::size_t size = 0; size < last; ++size) {
    EXPECT_THROW(train::from_toml(text.substr(0, size), "config.toml"), train::ConfigError) << size;
  }
}

TEST_P(Records, ARunResumesWithoutTheKeysThatItsVersionDidNotHave) {
  auto text = get("stopped/config.toml");
  const std::vector<std::string> added = {"distributed.compress", "distributed.shard_optimizer",
                                          "distributed.bucket_mb", "model.chunk"};
  for (const auto& key : added) text = without_key(text, key);
  put("stopped/config.toml", text);
  auto record = get_json("stopped/run.json");
  const auto steps = record.at("result").at("steps").get<std::int64_t>();
  record.erase("sessions");
  put("stopped/run.json", record.dump());
  const auto resumed = resume("stopped");
  ASSERT_EQ(resumed.code, cli::done) << resumed.err;
  const auto ended = train::read_run_record(path("stopped") / "run.json");
  EXPECT_EQ(ended.status, train::RunStatus::done);
  EXPECT_THAT(ended.sessions, ElementsAre(steps));
  const auto values = values_of(get("stopped/config.toml"));
  for (const auto& key : added) EXPECT_EQ(values.count(key), 1U) << key;
}

TEST_P(Records, AStudyResumesWithoutTheKeysThatItsVersionDidNotHave) {
  auto study = get_json("study/study.json");
  study.erase("protocol");
  study.erase("second_phase");
  for (auto& entry : study.at("runs")) {
    entry.erase("phase");
    for (auto& window : entry.at("windows")) window.erase("values");
  }
  put("study/study.json", study.dump());
  const auto report = cli::run({"report", at("study"), "--csv", at("runs.csv")});
  EXPECT_EQ(report.code, cli::done) << report.err;
  const auto kind = study.at("kind").get<std::string>();
  const auto resumed = cli::run({kind, "--resume", "--out", at("study"), "--jobs", "1", "--json"});
  ASSERT_EQ(resumed.code, cli::done) << resumed.err;
  const auto shown = resumed.json();
  EXPECT_EQ(shown.at("protocol"), "grid");
  for (const auto& entry : shown.at("runs")) EXPECT_EQ(entry.at("phase"), 1);
}

TEST_P(Records, AnUnknownKeyOfARunIsOneMessageAndChangesNothing) {
  put("stopped/config.toml", train::to_toml(train::read_config(path("stopped") / "config.toml")));
  const auto state = checkpoint_of("stopped") + "/state.json";
  struct Change {
    std::string file;
    std::string text;
    std::string key;
  };
  std::vector<Change> changes = {
      {"stopped/config.toml", get("stopped/config.toml") + "invented = 1\n", "judge.invented"}};
  const auto change_json = [&](const std::string& file, const std::string& place, const std::string& key) {
    auto document = get_json(file);
    document[json::json_pointer(place)] = 1;
    changes.push_back({file, file == state ? with_checksum(document) : document.dump(), key});
  };
  change_json("stopped/run.json", "/invented", "\"invented\"");
  change_json("stopped/run.json", "/host/invented", "\"host.invented\"");
  change_json(state, "/invented", "\"invented\"");
  change_json(state, "/files/invented.safetensors", "\"files.invented.safetensors\"");
  change_json(state, "/state/invented", "\"invented\"");
  change_json(state, "/state/stretch/invented", "\"stretch.invented\"");
  change_json(state, "/state/totals/split/invented", "\"totals.split.invented\"");
  for (const auto& [file, text, key] : changes) {
    SCOPED_TRACE(file + " with " + key);
    const auto whole = get(file);
    put(file, text);
    const auto before = files_below("stopped");
    expect_one_message(resume("stopped"), {at(file), key, "newer", LEHI_VERSION});
    EXPECT_EQ(files_below("stopped"), before);
    put(file, whole);
  }
  EXPECT_EQ(resume("stopped").code, cli::done);  // after the original files were restored
}

TEST_P(Records, AFinishedRunWithAnUnknownKeyIsShown) {
  auto record = get_json("run/run.json");
  record["invented"] = 1;
  put("run/run.json", record.dump());
  const auto shown = resume("run");
  ASSERT_EQ(shown.code, cli::done) << shown.err;
  EXPECT_EQ(shown.json(), record);
}

TEST_P(Records, AnUnknownMetricIsKept) {
  const auto text = get("stopped/metrics.jsonl");
  ASSERT_THAT(text, StartsWith("{"));
  put("stopped/metrics.jsonl", "{\"invented\":7," + text.substr(1));
  const auto resumed = resume("stopped");
  ASSERT_EQ(resumed.code, cli::done) << resumed.err;
  EXPECT_EQ(train::read_metrics(path("stopped") / "metrics.jsonl").front().at("invented"), 7);
}

TEST_P(Records, AStudyWithAnUnknownKeyIsShownButNotResumed) {
  const auto whole = get_json("stopped-study/study.json");
  const auto kind = whole.at("kind").get<std::string>();
  for (const std::string place : {"/invented", "/runs/1/invented"}) {
    auto study = whole;
    study[json::json_pointer(place)] = 1;
    put("stopped-study/study.json", study.dump());
    const auto before = files_below("stopped-study");
    const auto report = cli::run({"report", at("stopped-study"), "--csv", at("runs.csv")});
    EXPECT_EQ(report.code, cli::done) << report.err;
    expect_one_message(cli::run({kind, "--resume", "--jobs", "1", "--out", at("stopped-study")}),
                       {at("stopped-study/study.json"), "\"invented\"", "newer", LEHI_VERSION});
    EXPECT_EQ(files_below("stopped-study"), before);
  }
}

TEST_P(Records, ANewerSchemaIsOneMessageAndChangesNothing) {
  put("stopped/config.toml", train::to_toml(train::read_config(path("stopped") / "config.toml")));
  const auto state = checkpoint_of("stopped") + "/state.json";
  const auto newer = [&](const std::string& file) {
    auto document = get_json(file);
    document["schema"] = 1000;
    return file == state ? with_checksum(document) : document.dump();
  };
  for (const auto& file : {std::string("stopped/run.json"), state}) {
    const auto whole = get(file);
    put(file, newer(file));
    const auto before = files_below("stopped");
    expect_one_message(resume("stopped"), {at(file), "'schema' is 1000", "use the lehi that wrote it"});
    EXPECT_EQ(files_below("stopped"), before);
    put(file, whole);
  }
  put("study/study.json", newer("study/study.json"));
  expect_one_message(cli::run({"report", at("study"), "--csv", at("runs.csv")}),
                     {at("study/study.json"), "'schema' is 1000", "use the lehi that wrote it"});
}

}  // namespace
}  // namespace lehi::records
