// Shared by the tests of a contest's report: invented results.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "contest/result.h"
#include "study/statistics.h"

namespace lehi::testing {

/// With the seeds 100, 101, ...
inline std::vector<study::SeedValue> seeded(const std::vector<double>& values) {
  std::vector<study::SeedValue> result;
  for (const double value : values) result.push_back({100 + result.size(), value});
  return result;
}

inline contest::ArmResult contest_arm(const std::string& name, const std::vector<double>& values) {
  contest::ArmResult arm;
  arm.arm = name;
  arm.values = seeded(values);
  return arm;
}

inline contest::ArmResult contest_control(const std::string& name, const std::vector<double>& values) {
  auto arm = contest_arm(name, values);
  arm.control = true;
  return arm;
}

inline contest::ArmResult with_speed_up(contest::ArmResult arm, double steps, double seconds) {
  arm.speed_up =
      contest::SpeedUp{.points = {{steps, arm.values}}, .steps_fraction = steps, .seconds_fraction = seconds};
  return arm;
}

inline contest::TaskResult contest_task(const std::string& name, std::vector<contest::ArmResult> arms) {
  contest::TaskResult task;
  task.name = name;
  task.metric = "test_loss";
  task.tuning_metric = "validation_loss";
  task.baseline = "adamw";
  task.arms = std::move(arms);
  return task;
}

inline contest::Result contest_result(std::vector<contest::TaskResult> tasks) {
  contest::Result result;
  result.question = {.challenger = "lehi-kron", .rivals = {"soap", "muon"}, .classics = {"adam", "adamw"}};
  result.tasks = std::move(tasks);
  return result;
}

}  // namespace lehi::testing
