// A stand-in for `lehi train`: a shell script whose exit depends on the optimizer of its run. And a fixture for studies
// of such runs.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "study/fake.h"
#include "study/runner.h"
#include "train/scratch.h"

namespace lehi::testing {

// $1..: train --resume --progress lines|none [--data-dir D] --out DIR
inline constexpr const char* kStandIn = R"(#!/bin/sh
here=$(dirname "$0")
for out; do :; done
rate=$(echo "$out" | sed 's/.*-lr//; s/-seed.*//')
end() {
  metrics=$here/metrics-$rate.jsonl
  test -f "$metrics" || metrics=$here/metrics.jsonl
  cp "$metrics" "$out/metrics.jsonl"
  cp "$here/$1.json" "$out/run.json"
}
test "$1 $2 $3" = "train --resume --progress" || { echo "bad arguments: $*" >&2; exit 2; }
test -f "$out/config.toml" || { echo "no config.toml" >&2; exit 3; }
echo "$*" >> "$here/started"
env > "$here/environment"
echo '{"step":1,"total":4,"epoch":1,"seconds":0.1,"train_loss":0.5}'
echo 'not a progress line'
case "$out" in
  *-adamw-*)
    test -f "$here/repaired" || { echo "lehi: some notice" >&2; echo "lehi: the disk is on fire" >&2; exit 3; } ;;
  *-rmsprop-*-seed1) test -f "$here/repaired" || exit 3 ;;
  *-nadam-*) kill -KILL $$ ;;
  *-sgd-*) end diverged; exit 4 ;;
  *-lehi-*) ;;
  *-adagrad-*)
    trap 'end interrupted; exit 143' TERM
    touch "$here/waiting"
    while :; do sleep 0.02; done ;;
esac
end done
)";

/// Studies whose runs are stand-ins.
class StandInTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spill(tools_ / "stand-in", kStandIn);
    ::chmod((tools_ / "stand-in").c_str(), 0755);
    spill(tools_ / "metrics.jsonl", fake_metrics);
    for (const auto status : {train::RunStatus::done, train::RunStatus::diverged, train::RunStatus::interrupted}) {
      train::write_run_record(tools_ / (std::string(train::status_name(status)) + ".json"), fake_record(status));
    }
    request_.directory = scratch_ / "study";
    request_.kind = "compare";
    request_.command_line = {"lehi", "compare", "protein"};
    request_.program = (tools_ / "stand-in").string();
    request_.jobs = 2;
  }

  static std::vector<study::PlannedRun> plan_of(const std::vector<std::string>& optimizers,
                                                const std::vector<std::uint64_t>& seeds = {0}) {
    study::PlanRequest request;
    request.tasks = {"protein"};
    request.optimizers = optimizers;
    request.seeds = seeds;
    return make_plan(request);
  }

  study::StudyOutcome run(const std::vector<study::PlannedRun>& plan) {
    err_.str("");
    return study::run_study(plan, request_, err_);
  }

  std::size_t started() const {
    if (!std::filesystem::exists(tools_ / "started")) return 0;
    const auto text = slurp(tools_ / "started");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  /// Every rate with seed 0, the best rate with seeds 1 and 2. The stand-in has its best result at 0.01.
  study::StudyPlan phased_plan(const std::vector<std::string>& optimizers) {
    spill(tools_ / "metrics-0.01.jsonl", "{\"step\":1,\"seconds\":0.1,\"test_loss\":0.1}\n");
    study::PlanRequest request;
    request.tasks = {"protein"};
    request.optimizers = optimizers;
    request.rates = {1e-3, 1e-2, 1e-1};
    request.seeds = {0, 1, 2};
    request.best = 1;
    auto plan = study::make_study_plan({request});
    request_.second_phases = plan.second_phases;
    return plan;
  }

  static std::vector<std::string> directories(const study::Study& study) {
    std::vector<std::string> names;
    for (const auto& entry : study.runs) names.push_back(entry.directory);
    return names;
  }

  Scratch tools_;
  Scratch scratch_;
  study::RunnerRequest request_;
  std::ostringstream err_;
};

}  // namespace lehi::testing
