#include "report/contest_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/names.h"
#include "plot/colours.h"
#include "report/contest_report.h"
#include "report/contest_sentences.h"

namespace lehi::report {
namespace {

constexpr double arm_height = 13.0;  // pt
constexpr auto challenger_colour = "#c51b7d";
constexpr auto other_colour = "#0072b2";
constexpr auto control_colour = "#8a8a8a";
constexpr auto baseline_colour = "#333333";

plot::Style arm_style(const ArmAnalysis& arm, const std::string& challenger) {
  if (arm.arm->arm == challenger) {
    return {.colour = challenger_colour, .width = 2.0, .marker = plot::Marker::circle, .marker_size = 6.5};
  }
  if (arm.arm->control) {
    return {
        .colour = control_colour, .width = 1.0, .marker = plot::Marker::diamond, .marker_size = 4.5, .hollow = true};
  }
  return {.colour = other_colour, .width = 1.2, .marker = plot::Marker::circle, .marker_size = 4.5};
}

std::string group_name(const ArmAnalysis& arm, const std::string& challenger) {
  if (arm.arm->arm == challenger) return arm.label();
  return arm.arm->control ? "controls" : "other optimizers";
}

bool is_baseline(const TaskAnalysis& task, const ArmAnalysis& arm) {
  return task.baseline && &arm == &task.arms[*task.baseline];
}

// The ends of the metric's axis. An optimizer that is much worse than the others would make their differences
// invisible, so the axis ends at three times the distance from the best to the median.
struct MetricRange {
  std::optional<double> low;
  std::optional<double> high;

  bool has(double value) const { return (!low || value >= *low) && (!high || value <= *high); }
};

MetricRange metric_range(const TaskAnalysis& task) {
  std::vector<double> means;
  for (const auto& arm : task.arms) {
    if (std::isfinite(arm.mean)) means.push_back(arm.mean);
  }
  if (means.size() < 3) return {};
  std::sort(means.begin(), means.end());
  const bool larger = study::larger_is_better(task.task->metric);
  const double best = larger ? means.back() : means.front();
  const double worst = larger ? means.front() : means.back();
  const double reach = 3.0 * std::abs(means[means.size() / 2] - best);
  if (!(reach > 0.0) || std::abs(worst - best) <= 1.5 * reach) return {};
  if (larger) return {.low = best - reach, .high = {}};
  return {.low = {}, .high = best + reach};
}

std::string row_name(const ArmAnalysis& arm, const TaskAnalysis& task, const MetricRange& range) {
  if (arm.seeds == 0) return fmt::format("{} (no result)", arm.label());
  if (arm.diverged > 0) return fmt::format("{} (diverged)", arm.label());
  if (!range.has(arm.mean)) return fmt::format("{} ({})", arm.label(), mean_text(arm, task.task->metric));
  return arm.label();
}

// A vertical line in the baseline's colour.
plot::Series vertical_line(double x, double top, std::string name) {
  return {.name = std::move(name),
          .x = {x, x},
          .y = {-1.0, top},
          .style = {.colour = baseline_colour, .width = 0.8, .dash = plot::Dash::dashed},
          .autoscale = false};
}

plot::Axis arms_axis(std::size_t count) { return {.label = "", .low = -0.6, .high = static_cast<double>(count) - 0.4}; }

plot::Panel metric_panel(const TaskAnalysis& task, const std::string& challenger) {
  const auto range = metric_range(task);
  const auto count = task.arms.size();
  plot::Panel panel{.title = "at equal time",
                    .x = {.label = metric_words(task.task->metric), .low = range.low, .high = range.high},
                    .y = arms_axis(count)};
  for (std::size_t i = count; i-- > 0;) panel.y.names.push_back(row_name(task.arms[i], task, range));
  if (task.baseline && std::isfinite(task.arms[*task.baseline].mean)) {
    const auto& baseline = task.arms[*task.baseline];
    panel.series.push_back(vertical_line(baseline.mean, static_cast<double>(count), baseline.label()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto& arm = task.arms[i];
    if (!std::isfinite(arm.mean) || !range.has(arm.mean)) continue;
    const auto y = static_cast<double>(count - 1 - i);
    auto style = arm_style(arm, challenger);
    if (std::isfinite(arm.low)) {
      auto line = style;
      line.marker = plot::Marker::none;
      panel.series.push_back({.name = "", .x = {arm.low, arm.high}, .y = {y, y}, .style = line});
    }
    style.width = 0.0;
    panel.series.push_back({.name = group_name(arm, challenger), .x = {arm.mean}, .y = {y}, .style = style});
  }
  return panel;
}

// The paired differences from the challenger, which decide the verdicts. The axis shows those that are small.
plot::Panel difference_panel(const TaskAnalysis& task, const std::string& challenger) {
  const auto count = task.arms.size();
  std::vector<double> halves;
  for (const auto& arm : task.arms) {
    if (std::isfinite(arm.challenger.low)) halves.push_back((arm.challenger.high - arm.challenger.low) / 2);
  }
  plot::Panel panel{.title = "close ones, paired", .y = arms_axis(count)};
  panel.y.names.assign(count, "");
  panel.x.label = fmt::format("minus {}", task.arms[*task.challenger].label());
  if (halves.empty()) return panel;
  std::sort(halves.begin(), halves.end());
  const double reach = 5.0 * halves[halves.size() / 2];
  if (reach > 0.0) {
    panel.x.low = -reach;
    panel.x.high = reach;
  }
  panel.series.push_back({.name = "",
                          .x = {0.0, 0.0},
                          .y = {-1.0, static_cast<double>(count)},
                          .style = {.colour = challenger_colour, .width = 0.8, .dash = plot::Dash::dashed},
                          .autoscale = false});
  for (std::size_t i = 0; i < count; ++i) {
    const auto& arm = task.arms[i];
    if (!std::isfinite(arm.challenger.low) || (reach > 0.0 && std::abs(arm.challenger.mean) > reach)) continue;
    const auto y = static_cast<double>(count - 1 - i);
    auto style = arm_style(arm, challenger);
    auto line = style;
    line.marker = plot::Marker::none;
    panel.series.push_back({.name = "", .x = {-arm.challenger.high, -arm.challenger.low}, .y = {y, y}, .style = line});
    style.width = 0.0;
    panel.series.push_back({.name = "", .x = {-arm.challenger.mean}, .y = {y}, .style = style});
  }
  return panel;
}

bool has_differences(const TaskAnalysis& task) {
  return task.challenger && std::any_of(task.arms.begin(), task.arms.end(),
                                        [](const auto& arm) { return std::isfinite(arm.challenger.low); });
}

bool has_speed_up(const ArmAnalysis& arm) {
  const auto state = speed_up_state(*arm.arm);
  return state == SpeedUpState::reached || state == SpeedUpState::not_reached;
}

plot::Panel speed_panel(const TaskAnalysis& task, const std::string& challenger) {
  const auto count = task.arms.size();
  plot::Panel panel{.title = "speed-up", .y = arms_axis(count)};
  panel.y.names.assign(count, "");
  double widest = 1.1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& arm = task.arms[i];
    if (!has_speed_up(arm) || is_baseline(task, arm)) continue;
    const auto y = static_cast<double>(count - 1 - i);
    const auto colour = arm_style(arm, challenger).colour;
    const auto& speed = *arm.arm->speed_up;
    if (!speed.steps_fraction) {
      auto style = plot::marks(colour, plot::Marker::cross);
      panel.series.push_back({.name = "", .x = {1.0}, .y = {y}, .style = style});
      continue;
    }
    if (speed.seconds_fraction && std::isfinite(*speed.seconds_fraction)) {
      widest = std::max(widest, *speed.seconds_fraction + 0.1);
      panel.series.push_back({.name = "",
                              .x = {*speed.steps_fraction, *speed.seconds_fraction},
                              .y = {y, y},
                              .style = {.colour = colour, .width = 0.8}});
      panel.series.push_back({.name = "",
                              .x = {*speed.seconds_fraction},
                              .y = {y},
                              .style = plot::marks(colour, plot::Marker::square, /*hollow=*/true)});
    }
    panel.series.push_back(
        {.name = "", .x = {*speed.steps_fraction}, .y = {y}, .style = plot::marks(colour, plot::Marker::triangle)});
  }
  panel.x = {
      .label = fmt::format("part of {}'s steps (▲) and time (□)", task.task->baseline), .low = 0.0, .high = widest};
  panel.series.insert(panel.series.begin(), vertical_line(1.0, static_cast<double>(count), ""));
  return panel;
}

bool has_any_speed_up(const TaskAnalysis& task) {
  return std::any_of(task.arms.begin(), task.arms.end(),
                     [&](const auto& arm) { return has_speed_up(arm) && !is_baseline(task, arm); });
}

}  // namespace

std::string picture_name(const contest::TaskResult& task) { return base::safe_name(task.name); }
std::string picture_name(const BatchPanel& panel) { return base::safe_name(panel.group) + "-batch-sizes"; }

bool has_picture(const TaskAnalysis& task) {
  return std::any_of(task.arms.begin(), task.arms.end(), [](const auto& arm) { return std::isfinite(arm.mean); });
}

bool has_picture(const BatchPanel& panel) {
  return std::any_of(panel.lines.begin(), panel.lines.end(), [](const auto& line) {
    return std::any_of(line.points.begin(), line.points.end(), [](const auto& p) { return std::isfinite(p.mean); });
  });
}

plot::Figure task_figure(const TaskAnalysis& task, const std::string& challenger) {
  plot::Figure figure{.title = task.task->title.empty() ? task.task->name : task.task->title,
                      .description = fmt::format("{} The bars are 95 % intervals over seeds; the dashed line is {}.",
                                                 winner_sentence(task, challenger), task.task->baseline),
                      .panels = {metric_panel(task, challenger)},
                      .columns = 3,
                      .panel_width = 170.0,
                      .panel_height = arm_height * (static_cast<double>(task.arms.size()) + 0.2)};
  if (has_differences(task)) figure.panels.push_back(difference_panel(task, challenger));
  if (has_any_speed_up(task)) figure.panels.push_back(speed_panel(task, challenger));
  return figure;
}

plot::Figure panel_figure(const BatchPanel& panel, const std::string& challenger) {
  plot::Panel drawn{
      .title = "",
      .x = {.label = "batch size (rows)", .log = true},
      .y = {.label = fmt::format("advantage in {} over {}", metric_words(panel.metric), panel.baseline_label())}};
  std::vector<std::string> names;
  for (const auto& line : panel.lines) names.push_back(line.arm->arm);
  const auto colours = plot::colours_of(names);
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (const auto* task : panel.tasks) {
    smallest = std::min(smallest, static_cast<double>(task->batch_size));
    largest = std::max(largest, static_cast<double>(task->batch_size));
  }
  drawn.series.push_back({.name = panel.baseline_label(),
                          .x = {smallest, largest},
                          .y = {0.0, 0.0},
                          .style = {.colour = baseline_colour, .width = 0.8, .dash = plot::Dash::dashed}});
  std::vector<std::size_t> order(panel.lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](auto i) { return panel.lines[i].arm->arm != challenger; });
  for (const auto i : order) {  // the challenger last, above the others
    const auto& line = panel.lines[i];
    const bool main = line.arm->arm == challenger;
    plot::Series series{.name = line.arm->label.empty() ? line.arm->arm : line.arm->label,
                        .x = {},
                        .y = {},
                        .style = {.colour = colours[i],
                                  .width = main ? 2.0 : 1.2,
                                  .dash = line.arm->control ? plot::Dash::dotted : plot::Dash::solid,
                                  .marker = plot::Marker::circle,
                                  .marker_size = main ? 5.5 : 4.0}};
    plot::Band band{.name = "", .x = {}, .low = {}, .high = {}, .colour = colours[i], .opacity = main ? 0.2 : 0.1};
    for (const auto& point : line.points) {
      series.x.push_back(static_cast<double>(point.batch_size));
      series.y.push_back(point.mean);
      band.low.push_back(point.low);
      band.high.push_back(point.high);
    }
    band.x = series.x;
    drawn.bands.push_back(std::move(band));
    drawn.series.push_back(std::move(series));
  }
  return {
      .title = fmt::format("{}: advantage by batch size", panel.group),
      .description = "Advantage over the baseline at equal time, with 95 % intervals over seeds; positive is better",
      .panels = {drawn},
      .panel_width = 320.0,
      .panel_height = 180.0};
}

std::vector<NamedFigure> contest_figures(const contest::Result& result) {
  std::vector<NamedFigure> figures;
  for (const auto& task : analyse(result)) {
    if (has_picture(task)) figures.push_back({picture_name(*task.task), task_figure(task, result.question.challenger)});
  }
  for (const auto& panel : batch_panels(result)) {
    if (has_picture(panel)) figures.push_back({picture_name(panel), panel_figure(panel, result.question.challenger)});
  }
  return figures;
}

}  // namespace lehi::report
