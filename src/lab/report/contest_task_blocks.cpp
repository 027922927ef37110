// One task of the contest's report: who won, the tables, what the seeds can find.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/contest_blocks.h"
#include "report/contest_figures.h"
#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

using contest::ArmResult;
using contest::TaskResult;

namespace {

std::string arm_cell(const ArmAnalysis& entry) {
  return entry.arm->control ? fmt::format("{} (control)", entry.label()) : entry.label();
}

// "optimizer.weight_decay=0.1" as "weight_decay=0.1".
std::string knob_text(const std::string& knob) {
  constexpr std::string_view prefix = "optimizer.";
  return knob.starts_with(prefix) ? knob.substr(prefix.size()) : knob;
}

std::string rate_cell(const ArmResult& arm) {
  if (!(arm.lr > 0.0)) return "-";
  return rate_text(arm.lr) + (arm.rate_at_edge ? " (edge)" : "");
}

std::string time_cell(const contest::StepTime& time) {
  if (!(time.seconds > 0.0)) return "-";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", time.ratio, time.low, time.high);
}

std::string speed_cell(const ArmResult& arm, const std::optional<double>& fraction) {
  switch (speed_up_state(arm)) {
    case SpeedUpState::reached:
      return fraction ? fmt::format("{:.2f}", *fraction) : "-";
    case SpeedUpState::not_reached:
      return "not reached";
    case SpeedUpState::unfinished:
      return "unfinished";
    case SpeedUpState::not_measured:
      break;
  }
  return "-";
}

std::string verdict_cell(const TaskAnalysis& task, const ArmAnalysis& entry) {
  if (task.baseline && &entry == &task.arms[*task.baseline]) return "the baseline";
  if (entry.seeds == 0) return "no result";
  const auto& difference = entry.from_baseline;
  const auto word = verdict_word(entry.against_baseline);
  const auto other = difference.other_diverged + difference.both_diverged;
  if (entry.diverged > 0 && other == 0) return fmt::format("{}: diverged", word);
  if (other > 0) return fmt::format("{}: the baseline diverged", word);
  return fmt::format("{} ({})", word, counted(difference.differences.size(), "pair"));
}

std::vector<std::string> result_row(const TaskAnalysis& task, const ArmAnalysis& entry) {
  const auto& arm = *entry.arm;
  const auto& metric = task.task->metric;
  const auto& difference = entry.from_baseline;
  const std::optional<double> no_value;
  return {arm_cell(entry),
          rate_cell(arm),
          arm.knob.empty() ? "default" : knob_text(arm.knob),
          time_cell(arm.time),
          arm.steps > 0 ? std::to_string(arm.steps) : "-",
          mean_text(entry, metric),
          std::isfinite(entry.std) ? metric_number(metric, entry.std) : "-",
          std::isfinite(difference.mean) ? difference_text(metric, difference.mean) : "-",
          interval_text(metric, difference.low, difference.high),
          verdict_cell(task, entry),
          speed_cell(arm, arm.speed_up ? arm.speed_up->steps_fraction : no_value),
          speed_cell(arm, arm.speed_up ? arm.speed_up->seconds_fraction : no_value)};
}

Table results_table(const TaskAnalysis& task) {
  const auto& baseline = task.task->baseline;
  Table table{{{"optimizer", "rate", "knob", "step time", "steps", metric_words(task.task->metric), "std over seeds",
                fmt::format("minus {}", baseline), "95 % interval", "verdict", "speed-up: steps", "speed-up: time"}},
              {"optimizer", "knob", "verdict"}};
  for (const auto& entry : task.arms) table.rows.push_back(result_row(task, entry));
  return table;
}

// Mean over the seeds at each fraction of the baseline's steps; empty without such runs.
Document fractions_table(const TaskAnalysis& task) {
  std::vector<double> fractions;
  for (const auto& entry : task.arms) {
    if (!entry.arm->speed_up) continue;
    for (const auto& point : entry.arm->speed_up->points) fractions.push_back(point.fraction);
  }
  std::sort(fractions.begin(), fractions.end());
  fractions.erase(std::unique(fractions.begin(), fractions.end()), fractions.end());
  if (fractions.empty()) return {};
  const auto& metric = task.task->metric;
  Table table{{{"optimizer"}}, {"optimizer"}};
  for (const double fraction : fractions) table.rows.front().push_back(fmt::format("{:.2g}", fraction));
  for (const auto& entry : task.arms) {
    if (!entry.arm->speed_up || entry.arm->speed_up->points.empty()) continue;
    auto& row = table.rows.emplace_back(std::vector<std::string>{arm_cell(entry)});
    for (const double fraction : fractions) {
      std::vector<double> values;
      for (const auto& point : entry.arm->speed_up->points) {
        if (point.fraction != fraction) continue;
        for (const auto& [seed, value] : point.values) values.push_back(value);
      }
      const auto spread = study::mean_and_std(values);
      row.push_back(values.empty() ? "-" : with_spread(metric, spread.mean, spread.std));
    }
  }
  return {Paragraph{fmt::format("Speed-up: {} after a fraction of {}'s steps, each with a decay of its own; mean ± std "
                                "over its seeds.",
                                metric_words(metric), task.task->baseline)},
          table};
}

std::string trials_text(const TaskResult& task, const ArmResult& arm) {
  std::vector<std::string> trials;
  for (const auto& trial : arm.trials) {
    const auto knob = trial.knob.empty() ? "" : fmt::format(", {}", knob_text(trial.knob));
    trials.push_back(
        fmt::format("{}{}: {}", rate_text(trial.lr), knob, metric_number(task.tuning_metric, trial.value)));
  }
  return fmt::format("{}", fmt::join(trials, "; "));
}

Document trials_blocks(const TaskAnalysis& task) {
  Table table{{{"optimizer", "trained as", "trials (rate, knob: result)"}},
              {"optimizer", "trained as", "trials (rate, knob: result)"}};
  for (const auto& entry : task.arms) {
    if (entry.arm->trials.empty()) continue;
    const auto& optimizer = entry.arm->optimizer.empty() ? entry.arm->arm : entry.arm->optimizer;
    table.rows.push_back({arm_cell(entry), optimizer, trials_text(*task.task, *entry.arm)});
  }
  if (table.rows.size() == 1) return {};
  return {Paragraph{fmt::format("Trials with the tuning seeds ({}):", metric_words(task.task->tuning_metric))}, table};
}

std::string conditions_text(const TaskResult& task) {
  std::vector<std::string> parts;
  if (task.parameters > 0) parts.push_back(fmt::format("{} weights", task.parameters));
  if (task.batch_size > 0) parts.push_back(fmt::format("batches of {}", task.batch_size));
  if (task.steps > 0) parts.push_back(fmt::format("{} steps of {}", task.steps, task.baseline));
  return parts.empty() ? "" : fmt::format("{}.", fmt::join(parts, ", "));
}

std::vector<std::string> edge_sentences(const TaskAnalysis& task) {
  std::vector<std::string> labels;
  for (const auto& entry : task.arms) {
    if (entry.arm->rate_at_edge) labels.push_back(entry.label());
  }
  if (labels.empty()) return {};
  return {fmt::format("The chosen rate is the smallest or largest one tried, so a better one may lie outside: {}.",
                      listed(labels))};
}

}  // namespace

Document task_blocks(const contest::Result& result, const TaskAnalysis& task, const std::string& pictures, int level) {
  const auto& title = task.task->title;
  Document blocks = {Heading{level, title.empty() ? task.task->name : fmt::format("{}: {}", task.task->name, title)}};
  if (const auto text = conditions_text(*task.task); !text.empty()) blocks.push_back(Paragraph{text});
  blocks.push_back(Paragraph{winner_sentence(task, result.question.challenger)});
  if (!pictures.empty() && has_picture(task)) {
    blocks.push_back(
        Picture{pictures + picture_name(*task.task) + ".svg",
                fmt::format("{}: {} at equal time, and speed-up", task.task->name, metric_words(task.task->metric))});
  }
  if (!task.arms.empty()) blocks.push_back(results_table(task));
  std::vector<std::string> notes = edge_sentences(task);
  for (auto text : {control_sentence(task), power_sentence(task)}) {
    if (!text.empty()) notes.push_back(std::move(text));
  }
  if (!notes.empty()) blocks.push_back(List{notes});
  add_blocks(blocks, fractions_table(task));
  add_blocks(blocks, trials_blocks(task));
  return blocks;
}

}  // namespace lehi::report
