// A small study of two phases that tests run in several ways.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "train/checkpoint.h"
#include "train/metrics_log.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::cli {

/// A small study of two phases, and checks of its directory.
class SweepStudy : public ::testing::Test {
 protected:
  SweepStudy() {
    std::string table = "a,b,y\n";
    for (int i = 0; i < 500; ++i) table += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
    testing::spill(scratch / "t.csv", table);
  }

  Arguments arguments(const std::string& out) const {
    return {"sweep",
            "csv:" + (scratch / "t.csv").string(),
            "--target",
            "y",
            "--steps",
            "5000",
            "--optimizers",
            "lehi,momentum-control",
            "--lrs",
            "1e-4,1e-3",
            "--seeds",
            "0,1",
            "--best",
            "1",
            "--jobs",
            "2",
            "--set",
            "train.evaluate_every=500",
            "--set",
            "checkpoint.every=250",
            "--resume",
            "--out",
            (scratch / out).string()};
  }

  /// The sum of the steps in the runs' newest checkpoints. A study may be running.
  std::int64_t saved_steps(const std::string& out) const {
    std::int64_t sum = 0;
    std::error_code ignored;
    for (const auto& run : std::filesystem::directory_iterator(scratch / out, ignored)) {
      std::int64_t newest = 0;
      for (const auto& entry : std::filesystem::directory_iterator(run.path() / "checkpoints", ignored)) {
        long step = 0;
        if (std::sscanf(entry.path().filename().c_str(), "step-%ld", &step) == 1) newest = std::max<long>(newest, step);
      }
      sum += newest;
    }
    return sum;
  }

  /// The state of a run's directory while no process writes to it.
  struct Seen {
    std::vector<std::int64_t> sessions;
    std::int64_t checkpoint = 0;  ///< step of the newest one; 0: none
    std::string record;           ///< run.json of a finished run; "" otherwise
  };

  /// Reads the state of every run and compares it with the state before the last session.
  std::map<std::string, Seen> look(const std::string& out, const std::map<std::string, Seen>& before) const {
    // The runs of a killed study live a moment longer and hold its lock.
    const int directory = ::open((scratch / out).c_str(), O_RDONLY | O_CLOEXEC);
    if (directory >= 0) ::flock(directory, LOCK_EX);
    std::map<std::string, Seen> now;
    for (const auto& name : list_directory(scratch / out)) {
      const auto run = scratch / out / name;
      if (!std::filesystem::exists(run / "run.json")) continue;
      auto& seen = now[name];
      const auto record = train::read_run_record(run / "run.json");
      seen.sessions = record.sessions;
      if (const auto newest = train::newest_valid(run / "checkpoints").found) {
        seen.checkpoint = newest->checkpoint.state.at("steps").get<std::int64_t>();
      }
      if (record.status == train::RunStatus::done) seen.record = testing::slurp(run / "run.json");
      const auto earlier = before.find(name);
      if (earlier == before.end()) {
        EXPECT_EQ(seen.sessions.size(), 1U) << name;
        continue;
      }
      if (!earlier->second.record.empty()) {
        EXPECT_EQ(seen.record, earlier->second.record) << name << " was finished, but written again";
        continue;
      }
      auto expected = earlier->second.sessions;
      if (seen.sessions.size() > expected.size()) expected.push_back(earlier->second.checkpoint);
      EXPECT_EQ(seen.sessions, expected) << name << " did not continue from its newest checkpoint";
    }
    if (directory >= 0) ::close(directory);
    return now;
  }

  /// The runs of study.json without times and memory.
  nlohmann::json study_of(const std::string& out) const {
    auto study = nlohmann::json::parse(testing::slurp(scratch / out / "study.json"));
    EXPECT_EQ(study["protocol"], "two-phase");
    EXPECT_TRUE(study["finished"].is_string());
    for (auto& entry : study["runs"]) {
      for (auto* object : {&entry, &entry["result"]}) {
        for (const auto* key : {"seconds", "split", "step_seconds_min", "step_seconds_max", "peak_memory_bytes"}) {
          object->erase(key);
        }
      }
    }
    return study["runs"];
  }

  std::vector<nlohmann::json> metrics_of(const std::string& out, const std::string& directory) const {
    auto lines = train::read_metrics(scratch / out / directory / "metrics.jsonl");
    for (auto& line : lines) {
      line.erase("seconds");
      line.erase("peak_memory_bytes");
    }
    return lines;
  }

  testing::Scratch scratch;
};

}  // namespace lehi::cli
