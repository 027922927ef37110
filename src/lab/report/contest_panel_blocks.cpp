// One batch-size panel of the contest's report.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "report/contest_blocks.h"
#include "report/contest_figures.h"
#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {
namespace {

std::string slope_cell(const BatchPanel& panel, const BatchPanel::Line& line) {
  if (!std::isfinite(line.slope_low)) return "-";
  return fmt::format("{} ({})", difference_text(panel.metric, line.slope),
                     interval_text(panel.metric, line.slope_low, line.slope_high));
}

std::string point_cell(const BatchPanel& panel, const BatchPanel::Line& line, std::int64_t batch_size) {
  for (const auto& point : line.points) {
    if (point.batch_size != batch_size) continue;
    if (!std::isfinite(point.mean)) return "diverged";
    if (!std::isfinite(point.low)) return difference_text(panel.metric, point.mean);
    return fmt::format("{} ({})", difference_text(panel.metric, point.mean),
                       interval_text(panel.metric, point.low, point.high));
  }
  return "-";
}

Table panel_table(const BatchPanel& panel) {
  Table table{{{"optimizer"}}, {"optimizer"}};
  for (const auto* task : panel.tasks) table.rows.front().push_back(fmt::format("{} rows", task->batch_size));
  table.rows.front().emplace_back("per doubling");
  for (const auto& line : panel.lines) {
    const auto& label = line.arm->label.empty() ? line.arm->arm : line.arm->label;
    auto& row = table.rows.emplace_back(
        std::vector<std::string>{line.arm->control ? fmt::format("{} (control)", label) : label});
    for (const auto* task : panel.tasks) row.push_back(point_cell(panel, line, task->batch_size));
    row.push_back(slope_cell(panel, line));
  }
  return table;
}

// Larger batches have fewer steps, so a trend over the batch size is one over the length of training too.
std::string panel_steps_text(const BatchPanel& panel) {
  std::vector<std::string> steps;
  bool equal = true;
  for (const auto* task : panel.tasks) {
    steps.push_back(fmt::format("{} with {} rows", task->steps, task->batch_size));
    equal = equal && task->steps == panel.tasks.front()->steps;
  }
  if (equal) return "";
  return fmt::format(
      "{}'s steps are {}, so what changes with the batch size may be due to the number of steps as well.",
      panel.baseline_label(), listed(steps));
}

}  // namespace

Document panel_blocks(const contest::Result& result, const BatchPanel& panel, const std::string& pictures) {
  Document blocks = {
      Heading{2, fmt::format("Batch sizes: {}", panel.group)},
      Paragraph{fmt::format("Advantage in {} over {} at the same batch size and equal time; positive is better; 95 % "
                            "intervals over seeds.",
                            metric_words(panel.metric), panel.baseline_label())}};
  if (const auto text = panel_steps_text(panel); !text.empty()) blocks.push_back(Paragraph{text});
  if (!pictures.empty() && has_picture(panel)) {
    blocks.push_back(Picture{pictures + picture_name(panel) + ".svg",
                             fmt::format("{}: advantage over {} by batch size", panel.group, panel.baseline_label())});
  }
  blocks.push_back(panel_table(panel));
  if (auto sentences = panel_sentences(panel, result.question); !sentences.empty()) {
    blocks.push_back(List{std::move(sentences)});
  }
  return blocks;
}

}  // namespace lehi::report
