#include "report/contest_analysis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/contest_power.h"

namespace lehi::report {

using contest::ArmResult;
using contest::TaskResult;
using study::kNan;
using study::Verdict;

namespace {

ArmAnalysis arm_summary(const ArmResult& arm) {
  ArmAnalysis result{.arm = &arm, .seeds = arm.values.size(), .low = kNan, .high = kNan};
  result.from_baseline = result.challenger = study::paired_difference({}, {});
  std::vector<double> values;
  for (const auto& [seed, value] : arm.values) {
    values.push_back(value);
    if (!std::isfinite(value)) ++result.diverged;
  }
  const auto spread = study::mean_and_std(values);
  result.mean = spread.mean;
  result.std = spread.std;
  if (std::isfinite(spread.std)) {
    const double half = study::student_t(0.95, spread.count - 1) * spread.std / std::sqrt(double(spread.count));
    result.low = spread.mean - half;
    result.high = spread.mean + half;
  }
  return result;
}

// Arms with a mean, then those with diverged seeds, then those without seeds.
bool ranks_before(const std::string& metric, const ArmAnalysis& a, const ArmAnalysis& b) {
  if ((a.seeds == 0) != (b.seeds == 0)) return b.seeds == 0;
  if (a.diverged != b.diverged) return a.diverged < b.diverged;
  return study::better(metric, a.mean, b.mean);
}

std::optional<std::size_t> position_of(const std::vector<ArmAnalysis>& arms, const std::string& name) {
  const auto found = std::find_if(arms.begin(), arms.end(), [&](const auto& entry) { return entry.arm->arm == name; });
  if (found == arms.end()) return {};
  return static_cast<std::size_t>(found - arms.begin());
}

std::optional<Winner> winner_of(const TaskAnalysis& task) {
  const auto& metric = task.task->metric;
  const auto& arms = task.arms;
  const auto best = std::find_if(arms.begin(), arms.end(), [](const auto& entry) { return !entry.arm->control; });
  if (best == arms.end() || !std::isfinite(best->mean)) return {};
  Winner winner{.arm = static_cast<std::size_t>(best - arms.begin())};
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (i == winner.arm || arms[i].arm->control) continue;
    switch (contest_verdict(metric, study::paired_difference(best->arm->values, arms[i].arm->values))) {
      case Verdict::better:
        winner.beaten.push_back(i);
        break;
      case Verdict::worse:
        winner.ahead.push_back(i);
        break;
      case Verdict::unclear:
        winner.level.push_back(i);
        break;
      case Verdict::unknown:
        winner.unknown.push_back(i);
        break;
    }
  }
  return winner;
}

double median_of_sorted(const std::vector<double>& sorted) {
  const auto half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::optional<Power> power_of(const TaskAnalysis& task) {
  if (!task.baseline) return {};
  Power power;
  std::vector<double> spreads;
  for (const auto& entry : task.arms) {
    const auto& differences = entry.from_baseline.differences;
    if (entry.arm->control || entry.diverged > 0 || differences.size() < 2) continue;
    spreads.push_back(study::mean_and_std(differences).std);
    power.seeds = spreads.size() == 1 ? differences.size() : std::min(power.seeds, differences.size());
  }
  if (spreads.empty()) return {};
  std::sort(spreads.begin(), spreads.end());
  power.spread = median_of_sorted(spreads);
  power.detectable = power.spread * detectable_size(power.seeds);
  power.effect = task.task->effect * std::abs(task.arms[*task.baseline].mean);
  if (power.effect > 0.0) {
    power.needed = power.spread > 0.0 ? pairs_needed(power.effect / power.spread) : std::optional<std::size_t>(2);
  }
  return power;
}

}  // namespace

Verdict contest_verdict(const std::string& metric, const study::PairedDifference& difference) {
  if (difference.diverged + difference.other_diverged == 0) return study::verdict(metric, difference);
  auto wins = difference.other_diverged;
  auto losses = difference.diverged;
  for (const double value : difference.differences) {
    wins += study::better(metric, value, 0.0) ? 1 : 0;
    losses += study::better(metric, 0.0, value) ? 1 : 0;
  }
  if (study::sign_test(wins, losses) >= 0.05) return Verdict::unclear;
  return wins > losses ? Verdict::better : Verdict::worse;
}

const ArmAnalysis* TaskAnalysis::find(const std::string& arm) const {
  const auto position = position_of(arms, arm);
  return position ? &arms[*position] : nullptr;
}

TaskAnalysis analyse(const TaskResult& task, const std::string& challenger) {
  TaskAnalysis result{.task = &task};
  for (const auto& arm : task.arms) result.arms.push_back(arm_summary(arm));
  std::stable_sort(result.arms.begin(), result.arms.end(),
                   [&](const auto& a, const auto& b) { return ranks_before(task.metric, a, b); });
  result.baseline = position_of(result.arms, task.baseline);
  result.challenger = position_of(result.arms, challenger);
  for (std::size_t i = 0; i < result.arms.size(); ++i) {
    auto& entry = result.arms[i];
    if (result.baseline && *result.baseline != i) {
      entry.from_baseline = study::paired_difference(entry.arm->values, result.arms[*result.baseline].arm->values);
      entry.against_baseline = contest_verdict(task.metric, entry.from_baseline);
    }
    if (result.challenger && *result.challenger != i) {
      entry.challenger = study::paired_difference(result.arms[*result.challenger].arm->values, entry.arm->values);
      entry.challenger_against = contest_verdict(task.metric, entry.challenger);
    }
  }
  result.winner = winner_of(result);
  result.power = power_of(result);
  return result;
}

std::vector<TaskAnalysis> analyse(const contest::Result& result) {
  std::vector<TaskAnalysis> tasks;
  tasks.reserve(result.tasks.size());
  for (const auto& task : result.tasks) tasks.push_back(analyse(task, result.question.challenger));
  return tasks;
}

SpeedUpState speed_up_state(const ArmResult& arm) {
  if (!arm.speed_up) return SpeedUpState::not_measured;
  if (arm.speed_up->steps_fraction) return SpeedUpState::reached;
  const auto& points = arm.speed_up->points;
  const bool whole = std::any_of(points.begin(), points.end(),
                                 [](const auto& point) { return point.fraction >= 1.0 && !point.values.empty(); });
  if (whole) return SpeedUpState::not_reached;
  return points.empty() ? SpeedUpState::not_measured : SpeedUpState::unfinished;
}

}  // namespace lehi::report
