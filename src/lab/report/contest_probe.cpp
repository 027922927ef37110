// Whether the probe is the cause: answer (d) of contest_answers.h, and the panels' sentences.
#include <fmt/format.h>

#include <cmath>

#include "report/contest_answers.h"
#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

using study::Verdict;

namespace {

/// The arm that is asked about, and what it is compared with.
const std::string& subject_of(const contest::Question& question) {
  return question.probe.empty() ? question.challenger : question.probe;
}

std::vector<const ArmAnalysis*> others_of(const TaskAnalysis& task, const contest::Question& question) {
  std::vector<const ArmAnalysis*> others;
  for (const auto& arm : task.arms) {
    if (arm.arm->arm == subject_of(question)) continue;
    if (arm.arm->control || arm.arm->arm == question.challenger) others.push_back(&arm);
  }
  return others;
}

void add_comparisons(const TaskAnalysis& task, const contest::Question& question, std::vector<Outcome>& outcomes,
                     std::vector<std::string>& sentences) {
  const auto* subject = task.find(subject_of(question));
  const auto others = others_of(task, question);
  if (others.empty()) return;
  if (subject == nullptr || subject->seeds == 0) {
    if (subject != nullptr || question.probe.empty()) outcomes.push_back(Outcome::not_measured);
    return;
  }
  for (const auto* other : others) {
    const auto verdict =
        contest_verdict(task.task->metric, study::paired_difference(subject->arm->values, other->arm->values));
    outcomes.push_back(verdict == Verdict::unknown  ? Outcome::not_measured
                       : verdict == Verdict::better ? Outcome::met
                                                    : Outcome::not_met);
  }
  sentences.push_back(
      fmt::format("{}: {} is {}.", task.task->name, subject->label(), comparison_text(task, *subject, others)));
}

Outcome slope_outcome(const BatchPanel& panel, const std::string& arm) {
  for (const auto& line : panel.lines) {
    if (line.arm->arm != arm || !std::isfinite(line.slope_low)) continue;
    if (line.slope_low > 0.0) return Outcome::met;
    return line.slope_high < 0.0 ? Outcome::not_met : Outcome::not_shown;
  }
  return Outcome::not_measured;
}

/// The panel with advantages over each arm that the question's subject is compared with.
std::vector<BatchPanel> panels_of_subject(const BatchPanel& panel, const contest::Question& question) {
  if (!question.probe.empty()) return {panel_against(panel, question.challenger)};
  std::vector<BatchPanel> panels;
  for (const auto& line : panel.lines) {
    if (line.arm->control) panels.push_back(panel_against(panel, line.arm->arm));
  }
  if (panels.empty()) panels.push_back(panel);
  return panels;
}

// The line of an arm: its advantage at each batch size, and its slope.
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

void add_advantages(const BatchPanel& panel, const std::string& arm, std::vector<std::string>& sentences) {
  for (const auto& line : panel.lines) {
    if (line.arm->arm == arm) sentences.push_back(advantage_sentence(panel, line));
  }
}

std::string goal_text(const contest::Question& question) {
  if (question.probe.empty()) {
    return fmt::format(
        "What the controls change matters: {} is clearly better than every control, and its advantage "
        "over them grows with the batch size.",
        question.challenger);
  }
  return fmt::format(
      "The probe is the cause: {} is clearly better than {}, which has none, and than every other "
      "control, and its advantage over {} grows with the batch size.",
      question.probe, question.challenger, question.challenger);
}

}  // namespace

std::vector<std::string> panel_sentences(const BatchPanel& panel, const contest::Question& question) {
  std::vector<std::string> sentences;
  add_advantages(panel, question.challenger, sentences);
  const auto& subject = subject_of(question);
  for (const auto& against : panels_of_subject(panel, question)) {
    if (against.baseline != panel.baseline) add_advantages(against, subject, sentences);
  }
  return sentences;
}

Answer probe_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  const auto& question = result.question;
  Answer answer{.letter = 'd', .goal = goal_text(question), .sentences = {}};
  std::vector<Outcome> outcomes;
  for (const auto* task : outside_panels(tasks)) add_comparisons(*task, question, outcomes, answer.sentences);
  if (answer.sentences.empty()) {
    outcomes.push_back(Outcome::not_measured);
    answer.sentences.emplace_back("No task has controls with results.");
  }
  const auto panels = batch_panels(result);
  if (panels.empty()) {
    outcomes.push_back(Outcome::not_measured);
    answer.sentences.emplace_back("No panel over batch sizes was run.");
  }
  for (const auto& panel : panels) {
    for (const auto& against : panels_of_subject(panel, question)) {
      outcomes.push_back(slope_outcome(against, subject_of(question)));
    }
    for (auto& sentence : panel_sentences(panel, question)) answer.sentences.push_back(std::move(sentence));
  }
  answer.outcome = joined(outcomes);
  return answer;
}

}  // namespace lehi::report
