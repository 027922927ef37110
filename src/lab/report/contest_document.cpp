#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/contest_figures.h"
#include "report/contest_report.h"
#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

using contest::ArmResult;
using contest::TaskResult;

namespace {

void add_blocks(Document& document, Document more) {
  std::move(more.begin(), more.end(), std::back_inserter(document));
}

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

Document panel_blocks(const contest::Result& result, const BatchPanel& panel, const std::string& pictures) {
  Document blocks = {
      Heading{2, fmt::format("Batch sizes: {}", panel.group)},
      Paragraph{fmt::format("Advantage in {} over {} at the same batch size and equal time; positive is better; 95 % "
                            "intervals over seeds.",
                            metric_words(panel.metric), panel.baseline_label())}};
  if (!pictures.empty() && has_picture(panel)) {
    blocks.push_back(Picture{pictures + picture_name(panel) + ".svg",
                             fmt::format("{}: advantage over {} by batch size", panel.group, panel.baseline_label())});
  }
  blocks.push_back(panel_table(panel));
  if (auto sentences = panel_sentences(panel, result.question.challenger); !sentences.empty()) {
    blocks.push_back(List{std::move(sentences)});
  }
  return blocks;
}

Document verdict_blocks(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  Document blocks = {Heading{2, "Verdict"}};
  std::vector<std::string> winners;
  for (const auto& task : tasks) {
    if (task.task->group.empty()) winners.push_back(winner_sentence(task, result.question.challenger));
  }
  if (winners.empty()) {
    blocks.push_back(Paragraph{"No task has a result yet."});
  } else {
    blocks.push_back(List{winners});
  }
  blocks.push_back(Heading{2, "Goals"});
  Table table{{{"goal", "", "outcome"}}, {"goal", "", "outcome"}};
  const auto all = answers(result, tasks);
  for (const auto& answer : all) {
    table.rows.push_back({fmt::format("({})", answer.letter), answer.goal, outcome_text(answer.outcome)});
  }
  blocks.push_back(table);
  for (const auto& answer : all) {
    blocks.push_back(Heading{3, fmt::format("({}) {}", answer.letter, outcome_text(answer.outcome))});
    if (!answer.sentences.empty()) blocks.push_back(List{answer.sentences});
  }
  return blocks;
}

Document protocol_blocks() {
  return {
      Heading{2, "Protocol"},
      List{{"Warm-up of 5 % of the steps, then linear decay to 0, for each run and optimizer.",
            ("Each optimizer is tuned alone: first rates, then values of one declared knob at the best rate, on rows "
             "held out from training and with tuning seeds. No run of the verdict has a tuning seed."),
            ("The verdict has fresh seeds, the same for all optimizers, so differences are paired. An interval of the "
             "mean of the differences by Student's t at 95 % decides; it is not corrected for the number of "
             "comparisons, so about 1 in 20 differences between equals is called clear."),
            ("Equal time: step times are measured in runs that take turns, and each optimizer gets as many steps as "
             "fit the baseline's time, with its decay ending there. The step time is relative to the baseline's: "
             "median over the rounds, and the smallest and largest round."),
            ("Speed-up: the smallest fraction of the baseline's steps, with a decay of its own, that reaches the "
             "baseline's final result; in time, that fraction multiplied by the step time."),
            "± after a mean is half of its 95 % interval over seeds. A seed that diverged counts as worst.",
            "Controls change a part of the challenger, to ask whether that is the cause. They can't win.",
            ("\"No clear difference\" means that the seeds do not show one, not that there is none; each task says "
             "what its seeds can find.")}}};
}

Document origin_blocks(const contest::Result& result) {
  Document blocks = {Heading{2, "How it was made"}};
  std::vector<std::string> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(fmt::format("{}: {}", name, value));
  };
  add("lehi", result.lehi_version);
  add("Machine", result.machine);
  add("Started", result.started);
  add("Finished", result.finished);
  if (!facts.empty()) blocks.push_back(List{facts});
  if (!result.command_line.empty()) blocks.push_back(Commands{{shell_line(result.command_line)}});
  if (blocks.size() == 1) blocks.push_back(Paragraph{"Not recorded."});
  return blocks;
}

Document missing_blocks(const contest::Result& result) {
  if (result.missing.empty()) return {};
  return {Heading{2, "What is missing"}, List{result.missing}};
}

}  // namespace

Document contest_document(const contest::Result& result, const std::string& pictures) {
  const auto tasks = analyse(result);
  std::string introduction = "Written by lehi from contest.json; all numbers and sentences are computed.";
  if (result.finished.empty()) introduction += " The contest is not finished.";
  if (!result.missing.empty())
    introduction += fmt::format(" Missing: {}, listed below.", counted(result.missing.size(), "item"));
  Document document = {Heading{1, "Contest"}, Paragraph{introduction}};
  add_blocks(document, verdict_blocks(result, tasks));
  for (const auto& task : tasks) {
    if (task.task->group.empty()) add_blocks(document, task_blocks(result, task, pictures, 2));
  }
  for (const auto& panel : batch_panels(result)) {
    add_blocks(document, panel_blocks(result, panel, pictures));
    for (const auto& task : tasks) {
      if (task.task->group == panel.group) add_blocks(document, task_blocks(result, task, pictures, 3));
    }
  }
  add_blocks(document, protocol_blocks());
  add_blocks(document, missing_blocks(result));
  add_blocks(document, origin_blocks(result));
  return document;
}

}  // namespace lehi::report
