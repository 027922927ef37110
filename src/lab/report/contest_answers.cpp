// The answers of contest_sentences.h to the contest's goals.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

using study::Verdict;

namespace {

constexpr double rounding = 1e-9;  // 0.5 of the steps and 1.2 of their time are 0.6 of the time

Outcome joined(const std::vector<Outcome>& outcomes) {
  const auto has = [&](Outcome wanted) {
    return std::find(outcomes.begin(), outcomes.end(), wanted) != outcomes.end();
  };
  if (has(Outcome::not_met)) return Outcome::not_met;
  return outcomes.empty() || has(Outcome::not_measured) ? Outcome::not_measured : Outcome::met;
}

bool is_kind(const TaskAnalysis& task, std::string_view kind) {
  auto name = task.task->name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find(kind) != std::string::npos;
}

std::vector<const TaskAnalysis*> outside_panels(const std::vector<TaskAnalysis>& tasks, std::string_view kind) {
  std::vector<const TaskAnalysis*> found;
  for (const auto& task : tasks) {
    if (task.task->group.empty() && is_kind(task, kind)) found.push_back(&task);
  }
  return found;
}

/// "-0.0120 (-0.0150 to -0.0090) from adamw, clearly better".
std::string against_text(const TaskAnalysis& task, const ArmAnalysis& other) {
  const auto& metric = task.task->metric;
  const auto& difference = other.challenger;
  if (other.challenger_against == Verdict::unknown) return fmt::format("not comparable with {}", other.label());
  if (difference.diverged + difference.other_diverged + difference.both_diverged > 0) {
    return fmt::format("clearly {} than {}, as one of them diverged", verdict_word(other.challenger_against),
                       other.label());
  }
  return fmt::format("{} ({}) from {}, {}", difference_text(metric, difference.mean),
                     interval_text(metric, difference.low, difference.high), other.label(),
                     other.challenger_against == Verdict::unclear
                         ? "no clear difference"
                         : "clearly " + verdict_word(other.challenger_against));
}

// (a)

struct SpeedGoal {
  std::string_view kind;
  const char* shown;
  double steps;
  double seconds;
};
constexpr std::array<SpeedGoal, 2> speed_goals = {{{"gpt", "GPT", 0.5, 0.6}, {"resnet", "ResNet", 0.8, 0.8}}};

Outcome speed_outcome(const SpeedGoal& goal, const contest::ArmResult& arm) {
  const auto state = speed_up_state(arm);
  if (state == SpeedUpState::not_reached) return Outcome::not_met;
  if (state != SpeedUpState::reached) return Outcome::not_measured;
  const auto& speed = *arm.speed_up;
  if (*speed.steps_fraction > goal.steps + rounding) return Outcome::not_met;
  if (!speed.seconds_fraction) return Outcome::not_measured;
  return *speed.seconds_fraction > goal.seconds + rounding ? Outcome::not_met : Outcome::met;
}

std::string speed_text(const TaskAnalysis& task, const ArmAnalysis& challenger) {
  const auto& baseline = task.task->baseline;
  const auto& name = task.task->name;
  switch (speed_up_state(*challenger.arm)) {
    case SpeedUpState::reached: {
      const auto& speed = *challenger.arm->speed_up;
      const auto time = speed.seconds_fraction ? fmt::format("{:.1f} % of its time", 100 * *speed.seconds_fraction)
                                               : "an unknown time";
      return fmt::format("{}: {:.0f} % of {}'s steps and {}", name, 100 * *speed.steps_fraction, baseline, time);
    }
    case SpeedUpState::not_reached:
      return fmt::format("{}: not reached with all of {}'s steps", name, baseline);
    case SpeedUpState::unfinished:
      return fmt::format("{}: unfinished", name);
    case SpeedUpState::not_measured:
      break;
  }
  return fmt::format("{}: not measured", name);
}

Answer speed_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  Answer answer{.letter = 'a',
                .goal = fmt::format("{} reaches the baseline's final result in at most 50 % of its steps and 60 % of "
                                    "its time on the GPT tasks, 80 % of both on the ResNet.",
                                    result.question.challenger),
                .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto& goal : speed_goals) {
    const auto found = outside_panels(tasks, goal.kind);
    if (found.empty()) {
      outcomes.push_back(Outcome::not_measured);
      answer.sentences.push_back(fmt::format("No {} task took part.", goal.shown));
    }
    for (const auto* task : found) {
      if (!task->challenger) {
        outcomes.push_back(Outcome::not_measured);
        answer.sentences.push_back(
            fmt::format("{}: {} did not take part.", task->task->name, result.question.challenger));
        continue;
      }
      const auto& challenger = task->arms[*task->challenger];
      outcomes.push_back(speed_outcome(goal, *challenger.arm));
      answer.sentences.push_back(fmt::format("{}: {}.", speed_text(*task, challenger), outcome_text(outcomes.back())));
    }
  }
  answer.outcome = joined(outcomes);
  return answer;
}

// (b) and (c)

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The arms of these names in a task. The challenger itself is never one of them.
struct Group {
  const ArmAnalysis* best = nullptr;  ///< null without results
  std::vector<std::string> lacking;   ///< that are not in the task or have no result
};

Group group_of(const TaskAnalysis& task, const std::vector<std::string>& names) {
  Group group;
  for (const auto& name : names) {
    const auto* found = task.find(name);
    if (found == nullptr || found->seeds == 0) group.lacking.push_back(name);
  }
  for (const auto& arm : task.arms) {  // best first
    if (group.best == nullptr && arm.seeds > 0 && is_among(names, arm.arm->arm)) group.best = &arm;
  }
  return group;
}

std::string lacking_text(const Group& group) {
  return group.lacking.empty() ? "" : fmt::format(" ({} missing)", listed(group.lacking));
}

// At least level: not clearly worse.
Outcome level_outcome(const Group& group) {
  if (group.best == nullptr || group.best->challenger_against == Verdict::unknown) return Outcome::not_measured;
  if (group.best->challenger_against == Verdict::worse) return Outcome::not_met;
  return group.lacking.empty() ? Outcome::met : Outcome::not_measured;
}

void add_level(const TaskAnalysis& task, const std::vector<std::string>& names, std::vector<Outcome>& outcomes,
               std::vector<std::string>& sentences) {
  const auto group = group_of(task, names);
  outcomes.push_back(task.challenger ? level_outcome(group) : Outcome::not_measured);
  const auto text = !task.challenger        ? "the challenger did not take part"
                    : group.best == nullptr ? "no result to compare with"
                                            : against_text(task, *group.best);
  sentences.push_back(
      fmt::format("{}: {}{}: {}.", task.task->name, text, lacking_text(group), outcome_text(outcomes.back())));
}

// Clearly better than every arm that is no rival, control or the challenger.
void add_others(const TaskAnalysis& task, const contest::Question& question, std::vector<Outcome>& outcomes,
                std::vector<std::string>& sentences) {
  std::vector<std::string> missed;
  std::size_t beaten = 0;
  for (const auto& arm : task.arms) {
    if (arm.arm->control || arm.arm->arm == question.challenger || is_among(question.rivals, arm.arm->arm)) continue;
    const bool better = arm.challenger_against == Verdict::better;
    const bool unknown = arm.challenger_against == Verdict::unknown;
    outcomes.push_back(better ? Outcome::met : unknown ? Outcome::not_measured : Outcome::not_met);
    beaten += better ? 1 : 0;
    if (!better) missed.push_back(against_text(task, arm));
  }
  auto text = fmt::format("{}: clearly better than {} of {}", task.task->name, beaten,
                          counted(beaten + missed.size(), "other optimizer"));
  if (!missed.empty()) text += fmt::format("; {}", listed(missed));
  sentences.push_back(text + ".");
}

Answer rivals_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  const auto& question = result.question;
  Answer answer{.letter = 'b',
                .goal = fmt::format("At equal time on the GPT tasks, {} is at least level with the best of {}, and "
                                    "clearly better than all other optimizers.",
                                    question.challenger, listed(question.rivals)),
                .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto* task : outside_panels(tasks, "gpt")) {
    add_level(*task, question.rivals, outcomes, answer.sentences);
    add_others(*task, question, outcomes, answer.sentences);
  }
  if (outcomes.empty()) answer.sentences.emplace_back("No GPT task took part.");
  answer.outcome = joined(outcomes);
  return answer;
}

Answer classics_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  const auto& question = result.question;
  Answer answer{.letter = 'c',
                .goal = fmt::format("{} is worse than the best of {} on no task, with 95 % confidence.",
                                    question.challenger, listed(question.classics)),
                .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto& task : tasks) {
    // Panels often run the baseline alone.
    auto names = question.classics;
    if (!task.task->group.empty()) std::erase_if(names, [&](const auto& name) { return task.find(name) == nullptr; });
    add_level(task, names, outcomes, answer.sentences);
  }
  if (outcomes.empty()) answer.sentences.emplace_back("No task took part.");
  answer.outcome = joined(outcomes);
  return answer;
}

// (d)

Outcome better_outcome(Verdict verdict) {
  if (verdict == Verdict::unknown) return Outcome::not_measured;
  return verdict == Verdict::better ? Outcome::met : Outcome::not_met;
}

void add_controls(const TaskAnalysis& task, bool& explained, std::vector<Outcome>& outcomes,
                  std::vector<std::string>& sentences) {
  const auto has_controls =
      std::any_of(task.arms.begin(), task.arms.end(), [](const auto& arm) { return arm.arm->control; });
  if (!has_controls) return;
  if (!task.challenger || !task.baseline) {
    outcomes.push_back(Outcome::not_measured);
    return;
  }
  const auto& baseline = task.arms[*task.baseline];
  const auto against = baseline.challenger_against;
  if (against != Verdict::better) {
    if (against == Verdict::unknown) outcomes.push_back(Outcome::not_measured);
    sentences.push_back(fmt::format("{}: nothing to explain, {}.", task.task->name, against_text(task, baseline)));
    return;
  }
  explained = true;
  for (const auto& arm : task.arms) {
    if (arm.arm->control) outcomes.push_back(better_outcome(arm.challenger_against));
  }
  sentences.push_back(fmt::format("{}: {}", task.task->name, control_sentence(task)));
}

Outcome slope_outcome(const BatchPanel& panel, const std::string& challenger) {
  for (const auto& line : panel.lines) {
    if (line.arm->arm != challenger) continue;
    if (!std::isfinite(line.slope_low)) return Outcome::not_measured;
    return line.slope_low > 0.0 ? Outcome::met : Outcome::not_met;
  }
  return Outcome::not_measured;
}

std::vector<std::string> control_names(const BatchPanel& panel) {
  std::vector<std::string> names;
  for (const auto& line : panel.lines) {
    if (line.arm->control) names.push_back(line.arm->arm);
  }
  return names;
}

void add_panels(const contest::Result& result, std::vector<Outcome>& outcomes, std::vector<std::string>& sentences) {
  const auto& challenger = result.question.challenger;
  const auto panels = batch_panels(result);
  if (panels.empty()) {
    outcomes.push_back(Outcome::not_measured);
    sentences.emplace_back("No panel over batch sizes was run.");
  }
  for (const auto& panel : panels) {
    const auto controls = control_names(panel);
    if (controls.empty()) outcomes.push_back(slope_outcome(panel, challenger));
    for (const auto& name : controls) outcomes.push_back(slope_outcome(panel_against(panel, name), challenger));
    for (auto& sentence : panel_sentences(panel, challenger)) sentences.push_back(std::move(sentence));
  }
}

Answer controls_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  const auto& challenger = result.question.challenger;
  Answer answer{
      .letter = 'd',
      .goal = fmt::format("What the controls change matters: where {0} is clearly better than the baseline, "
                          "it is also clearly better than every control, and its advantage over them grows with the "
                          "batch size.",
                          challenger),
      .sentences = {}};
  std::vector<Outcome> outcomes;
  bool explained = false;
  for (const auto* task : outside_panels(tasks, "")) add_controls(*task, explained, outcomes, answer.sentences);
  const bool nothing_to_explain = !explained && !answer.sentences.empty() && outcomes.empty();
  if (answer.sentences.empty()) {
    outcomes.push_back(Outcome::not_measured);
    answer.sentences.emplace_back("No task has controls with results.");
  }
  if (nothing_to_explain) {
    outcomes.push_back(Outcome::not_met);
    answer.sentences.push_back(
        fmt::format("{} is clearly better than the baseline on no task with controls.", challenger));
  }
  add_panels(result, outcomes, answer.sentences);
  answer.outcome = joined(outcomes);
  return answer;
}

// The line of the challenger: its advantage at each batch size, and its slope.
std::string advantage_sentence(const BatchPanel& panel, const BatchPanel::Line& line) {
  std::vector<std::string> values;
  for (const auto& point : line.points) {
    values.push_back(fmt::format("{} at {}",
                                 std::isfinite(point.mean) ? difference_text(panel.metric, point.mean) : "unknown",
                                 point.batch_size));
  }
  auto text =
      fmt::format("{}: the advantage of {} over {} by batch size is {}", panel.group,
                  line.arm->label.empty() ? line.arm->arm : line.arm->label, panel.baseline_label(), listed(values));
  if (!std::isfinite(line.slope_low)) return text + "; too few seeds say how it changes.";
  const auto* change = line.slope_low > 0.0 ? "it grows" : line.slope_high < 0.0 ? "it shrinks" : "no clear trend";
  return text + fmt::format("; {}: {} per doubling of the batch ({}).", change,
                            difference_text(panel.metric, line.slope),
                            interval_text(panel.metric, line.slope_low, line.slope_high));
}

}  // namespace

std::vector<std::string> panel_sentences(const BatchPanel& panel, const std::string& challenger) {
  std::vector<std::string> sentences;
  const auto add = [&](const BatchPanel& shown) {
    for (const auto& line : shown.lines) {
      if (line.arm->arm == challenger) sentences.push_back(advantage_sentence(shown, line));
    }
  };
  add(panel);
  for (const auto& name : control_names(panel)) add(panel_against(panel, name));
  return sentences;
}

std::vector<Answer> answers(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  return {speed_answer(result, tasks), rivals_answer(result, tasks), classics_answer(result, tasks),
          controls_answer(result, tasks)};
}

}  // namespace lehi::report
