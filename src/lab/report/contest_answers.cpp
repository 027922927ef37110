#include "report/contest_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

using study::Verdict;

namespace {

constexpr double rounding = 1e-9;  // 0.5 of the steps and 1.2 of their time are 0.6 of the time

/// Tasks by what their names contain, in any letters.
struct Kind {
  const char* shown;
  std::array<std::string_view, 2> words;
};
constexpr Kind gpt = {"GPT", {"gpt", "llama"}};
constexpr Kind resnet = {"ResNet", {"resnet", "resnet"}};

std::vector<const TaskAnalysis*> tasks_of(const std::vector<TaskAnalysis>& tasks, const Kind& kind) {
  auto found = outside_panels(tasks);
  std::erase_if(found, [&](const auto* task) {
    auto name = task->task->name;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::none_of(kind.words.begin(), kind.words.end(),
                        [&](const auto& word) { return name.find(word) != std::string::npos; });
  });
  return found;
}

// The challenger minus `other`: "-0.0120 (-0.0150 to -0.0090) from adamw, clearly better".
std::string against_text(const TaskAnalysis& task, const ArmAnalysis& other) {
  const auto& metric = task.task->metric;
  const auto& difference = other.challenger;
  const auto verdict = other.challenger_against == Verdict::unclear
                           ? "no clear difference"
                           : "clearly " + verdict_word(other.challenger_against);
  const auto diverged = difference.diverged + difference.other_diverged + difference.both_diverged;
  if (other.challenger_against == Verdict::unknown) return fmt::format("not comparable with {}", other.label());
  if (diverged == 0) {
    return fmt::format("{} ({}) from {}, {}", difference_text(metric, difference.mean),
                       interval_text(metric, difference.low, difference.high), other.label(), verdict);
  }
  const auto pairs = difference.differences.size() + diverged;
  return fmt::format("diverged with {} of {}, {} with {}: {}", difference.diverged + difference.both_diverged,
                     counted(pairs, "seed"), other.label(), difference.other_diverged + difference.both_diverged,
                     verdict);
}

// (a)

struct SpeedGoal {
  Kind kind;
  double steps = 1.0;
  double seconds = 1.0;
};
constexpr std::array<SpeedGoal, 2> speed_goals = {{{gpt, 0.5, 0.6}, {resnet, 0.8, 0.8}}};

Outcome speed_outcome(const SpeedGoal& goal, const contest::ArmResult& arm) {
  const auto state = speed_up_state(arm);
  if (state == SpeedUpState::not_reached) return Outcome::not_met;
  if (state != SpeedUpState::reached) return Outcome::not_measured;
  const auto& speed = *arm.speed_up;
  if (*speed.steps_fraction > goal.steps + rounding) return Outcome::not_met;
  if (!speed.seconds_fraction) return Outcome::not_measured;
  return *speed.seconds_fraction > goal.seconds + rounding ? Outcome::not_met : Outcome::met;
}

std::string speed_text(const TaskAnalysis& task, const contest::ArmResult& arm) {
  const auto& baseline = task.task->baseline;
  const auto& name = task.task->name;
  const auto state = speed_up_state(arm);
  if (state == SpeedUpState::not_measured) return fmt::format("{}: not measured", name);
  if (state == SpeedUpState::unfinished) return fmt::format("{}: unfinished", name);
  const auto seeds = counted(arm.speed_up->points.back().values.size(), "seed");
  if (state == SpeedUpState::not_reached) {
    return fmt::format("{}: not reached with all of {}'s steps (mean of {})", name, baseline, seeds);
  }
  const auto& speed = *arm.speed_up;
  const auto time =
      speed.seconds_fraction ? fmt::format("{:.1f} % of its time", 100 * *speed.seconds_fraction) : "an unknown time";
  return fmt::format("{}: {:.0f} % of {}'s steps and {} (mean of {})", name, 100 * *speed.steps_fraction, baseline,
                     time, seeds);
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

// The challenger is no worse than `other` if the interval of their difference leaves less than the task's `effect`.
Outcome level_outcome(const TaskAnalysis& task, const ArmAnalysis& other) {
  if (other.challenger_against == Verdict::unknown) return Outcome::not_measured;
  if (other.challenger_against == Verdict::worse) return Outcome::not_met;
  if (other.challenger_against == Verdict::better) return Outcome::met;
  const auto& difference = other.challenger;
  if (difference.diverged + difference.other_diverged > 0 || !task.baseline) return Outcome::not_shown;
  const double largest_loss = study::larger_is_better(task.task->metric) ? -difference.low : difference.high;
  const double allowed = task.task->effect * std::abs(task.arms[*task.baseline].mean);
  return largest_loss <= allowed ? Outcome::met : Outcome::not_shown;
}

// At least level with the best of `names` that took part.
void add_level(const TaskAnalysis& task, const std::vector<std::string>& names, std::vector<Outcome>& outcomes,
               std::vector<std::string>& sentences) {
  const auto group = group_of(task, names);
  const bool comparable = task.challenger && group.best != nullptr;
  outcomes.push_back(comparable ? level_outcome(task, *group.best) : Outcome::not_measured);
  const auto text = !task.challenger        ? "the challenger did not take part"
                    : group.best == nullptr ? "no result to compare with"
                                            : against_text(task, *group.best);
  const auto lacking = group.lacking.empty() ? "" : fmt::format(" ({} took no part)", listed(group.lacking));
  sentences.push_back(fmt::format("{}: {}{}: {}.", task.task->name, text, lacking, outcome_text(outcomes.back())));
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

}  // namespace

std::string outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::met:
      return "met";
    case Outcome::not_met:
      return "not met";
    case Outcome::not_shown:
      return "not shown";
    case Outcome::not_measured:
      break;
  }
  return "not measured";
}

Outcome joined(const std::vector<Outcome>& outcomes) {
  const auto has = [&](Outcome wanted) {
    return std::find(outcomes.begin(), outcomes.end(), wanted) != outcomes.end();
  };
  if (has(Outcome::not_met)) return Outcome::not_met;
  if (outcomes.empty() || has(Outcome::not_measured)) return Outcome::not_measured;
  return has(Outcome::not_shown) ? Outcome::not_shown : Outcome::met;
}

std::vector<const TaskAnalysis*> outside_panels(const std::vector<TaskAnalysis>& tasks) {
  std::vector<const TaskAnalysis*> found;
  for (const auto& task : tasks) {
    if (task.task->group.empty()) found.push_back(&task);
  }
  return found;
}

Answer speed_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  Answer answer{.letter = 'a',
                .goal = fmt::format("{} reaches the baseline's final result in at most 50 % of its steps and 60 % of "
                                    "its time on the GPT and Llama tasks, 80 % of both on the ResNet.",
                                    result.question.challenger),
                .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto& goal : speed_goals) {
    const auto found = tasks_of(tasks, goal.kind);
    if (found.empty()) {
      outcomes.push_back(Outcome::not_measured);
      answer.sentences.push_back(fmt::format("No {} task took part.", goal.kind.shown));
    }
    for (const auto* task : found) {
      if (!task->challenger) {
        outcomes.push_back(Outcome::not_measured);
        answer.sentences.push_back(
            fmt::format("{}: {} did not take part.", task->task->name, result.question.challenger));
        continue;
      }
      const auto& challenger = *task->arms[*task->challenger].arm;
      outcomes.push_back(speed_outcome(goal, challenger));
      answer.sentences.push_back(fmt::format("{}: {}.", speed_text(*task, challenger), outcome_text(outcomes.back())));
    }
  }
  answer.outcome = joined(outcomes);
  return answer;
}

Answer rivals_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  const auto& question = result.question;
  Answer answer{
      .letter = 'b',
      .goal = fmt::format("At equal time on the GPT and Llama tasks, {} is at least level with the best of {}, and "
                          "clearly better than all other optimizers.",
                          question.challenger, listed(question.rivals)),
      .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto* task : tasks_of(tasks, gpt)) {
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
  for (const auto& task : tasks) add_level(task, question.classics, outcomes, answer.sentences);
  if (outcomes.empty()) answer.sentences.emplace_back("No task took part.");
  answer.outcome = joined(outcomes);
  return answer;
}

std::vector<Answer> answers(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  return {speed_answer(result, tasks), rivals_answer(result, tasks), classics_answer(result, tasks),
          probe_answer(result, tasks)};
}

}  // namespace lehi::report
