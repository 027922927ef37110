// The batch-size panels of contest_analysis.h.
#include <algorithm>
#include <cmath>

#include "report/contest_analysis.h"

namespace lehi::report {

using contest::ArmResult;
using contest::TaskResult;
using study::kNan;

namespace {

const ArmResult* arm_of(const TaskResult& task, const std::string& name) {
  const auto found = std::find_if(task.arms.begin(), task.arms.end(), [&](const auto& arm) { return arm.arm == name; });
  return found == task.arms.end() ? nullptr : &*found;
}

// The advantage of `arm` over `base` with each common seed: positive is better.
study::PairedDifference advantage(const std::string& metric, const ArmResult& arm, const ArmResult& base) {
  return study::larger_is_better(metric) ? study::paired_difference(arm.values, base.values)
                                         : study::paired_difference(base.values, arm.values);
}

// The advantage with one seed; NaN if a value is missing or diverged.
double advantage_with(const std::string& metric, const ArmResult& arm, const ArmResult& base, std::uint64_t seed) {
  const auto value_of = [seed](const ArmResult& from) {
    for (const auto& [s, value] : from.values) {
      if (s == seed && std::isfinite(value)) return value;
    }
    return kNan;
  };
  const double difference = value_of(arm) - value_of(base);
  return study::larger_is_better(metric) ? difference : -difference;
}

double least_squares_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = study::mean_of(x);
  const double mean_y = study::mean_of(y);
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean_x) * (y[i] - mean_y);
    squares += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return products / squares;  // NaN for one batch size
}

void add_slope(const BatchPanel& panel, BatchPanel::Line& line) {
  line.slope = line.slope_low = line.slope_high = kNan;
  std::vector<double> slopes;
  for (const auto& [seed, ignored] : line.arm->values) {
    std::vector<double> x;
    std::vector<double> y;
    for (const auto* task : panel.tasks) {
      const auto* arm = arm_of(*task, line.arm->arm);
      const auto* base = arm_of(*task, panel.baseline);
      if (arm == nullptr || base == nullptr) continue;
      x.push_back(std::log2(static_cast<double>(task->batch_size)));
      y.push_back(advantage_with(task->metric, *arm, *base, seed));
    }
    if (const double slope = least_squares_slope(x, y); std::isfinite(slope)) slopes.push_back(slope);
  }
  if (slopes.size() < 2) return;
  const auto spread = study::mean_and_std(slopes);
  const auto count = static_cast<double>(slopes.size());
  const double half = study::student_t(0.95, slopes.size() - 1) * spread.std / std::sqrt(count);
  line.slope = spread.mean;
  line.slope_low = spread.mean - half;
  line.slope_high = spread.mean + half;
}

BatchPanel::Line line_of(const BatchPanel& panel, const std::string& name) {
  BatchPanel::Line line;
  for (const auto* task : panel.tasks) {
    const auto* arm = arm_of(*task, name);
    const auto* base = arm_of(*task, panel.baseline);
    if (arm == nullptr || base == nullptr) continue;
    if (line.arm == nullptr) line.arm = arm;
    const auto difference = advantage(task->metric, *arm, *base);
    const bool complete = difference.diverged + difference.other_diverged + difference.both_diverged == 0;
    line.points.push_back({.batch_size = task->batch_size,
                           .mean = complete ? difference.mean : kNan,
                           .low = complete ? difference.low : kNan,
                           .high = complete ? difference.high : kNan,
                           .pairs = difference.differences.size()});
  }
  return line;
}

void add_lines(BatchPanel& panel) {
  panel.lines.clear();
  std::vector<std::string> names = {panel.baseline};
  for (const auto* task : panel.tasks) {
    for (const auto& arm : task->arms) {
      if (std::find(names.begin(), names.end(), arm.arm) != names.end()) continue;
      names.push_back(arm.arm);
      auto line = line_of(panel, arm.arm);
      if (line.arm == nullptr) continue;
      add_slope(panel, line);
      panel.lines.push_back(std::move(line));
    }
  }
}

}  // namespace

std::string BatchPanel::baseline_label() const {
  for (const auto* task : tasks) {
    if (const auto* arm = arm_of(*task, baseline); arm != nullptr && !arm->label.empty()) return arm->label;
  }
  return baseline;
}

std::vector<BatchPanel> batch_panels(const contest::Result& result) {
  std::vector<BatchPanel> panels;
  for (const auto& task : result.tasks) {
    if (task.group.empty()) continue;
    auto found = std::find_if(panels.begin(), panels.end(), [&](const auto& p) { return p.group == task.group; });
    if (found == panels.end()) {
      found = panels.insert(panels.end(), {.group = task.group, .baseline = task.baseline, .metric = task.metric});
    }
    found->tasks.push_back(&task);
  }
  std::erase_if(panels, [](const auto& panel) { return panel.tasks.size() < 2; });
  for (auto& panel : panels) {
    std::stable_sort(panel.tasks.begin(), panel.tasks.end(),
                     [](const auto* a, const auto* b) { return a->batch_size < b->batch_size; });
    add_lines(panel);
  }
  return panels;
}

BatchPanel panel_against(BatchPanel panel, const std::string& arm) {
  panel.baseline = arm;
  add_lines(panel);
  return panel;
}

}  // namespace lehi::report
