// A fixture for training runs in a temporary directory.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "support/support.h"
#include "train/checkpoint.h"
#include "train/metrics_log.h"
#include "train/run.h"
#include "train/scratch.h"

namespace lehi::train {

class RunFixture : public ::testing::Test {
 protected:
  RunRequest request(const RunConfig& config, const std::string& name) {
    RunRequest request;
    request.config = config;
    request.out = scratch / name;
    request.on_progress = [](const RunProgress&) {};
    request.on_message = [this](const std::string& text) { messages.push_back(text); };
    return request;
  }

  RunOutcome run(const RunConfig& config, const std::string& name, bool resume = false) {
    auto asked = request(config, name);
    asked.resume = resume;
    return run_training(asked);
  }

  /// Stops the run by a signal at its first progress report of `step` or a later step.
  RunOutcome run_until(std::int64_t step, const RunConfig& config, const std::string& name) {
    auto asked = request(config, name);
    asked.resume = true;
    return run_until(step, std::move(asked));
  }

  RunOutcome run_until(std::int64_t step, RunRequest asked) {
    asked.on_progress = [step, raised = false](const RunProgress& progress) mutable {
      // Only once: a second signal would kill the process, and a slow run reports again before it has stopped.
      if (progress.step >= step && !std::exchange(raised, true)) std::raise(SIGTERM);
    };
    return run_training(asked);
  }

  Checkpoint last_checkpoint(const std::string& name) const {
    return newest_valid(scratch / name / "checkpoints").found.value().checkpoint;
  }

  std::vector<nlohmann::json> metrics(const std::string& name) const {
    auto lines = read_metrics(scratch / name / "metrics.jsonl");
    for (auto& line : lines) {
      line.erase("seconds");
      line.erase("peak_memory_bytes");
    }
    return lines;
  }

  void expect_same_run(const std::string& a, const std::string& b) const {
    EXPECT_EQ(metrics(a), metrics(b));
    const auto one = last_checkpoint(a);
    const auto two = last_checkpoint(b);
    for (const auto& [left, right] : {std::pair(one.model, two.model), std::pair(one.optimizer, two.optimizer)}) {
      ASSERT_EQ(left.size(), right.size());
      for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_EQ(left[i].first, right[i].first);
        EXPECT_TRUE(lehi::testing::same_bits(left[i].second, right[i].second)) << left[i].first;
      }
    }
  }

  lehi::testing::Scratch scratch;
  std::vector<std::string> messages;
};

}  // namespace lehi::train
