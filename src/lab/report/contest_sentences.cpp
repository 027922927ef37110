#include "report/contest_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/format.h"

namespace lehi::report {

using study::Verdict;

namespace {

std::vector<std::string> labels_at(const TaskAnalysis& task, const std::vector<std::size_t>& positions) {
  std::vector<std::string> labels;
  labels.reserve(positions.size());
  for (const auto position : positions) labels.push_back(task.arms[position].label());
  return labels;
}

// "; soap and muon do not differ from it clearly" and the like; nothing for an empty list.
std::string level_clause(const TaskAnalysis& task, const Winner& winner) {
  if (winner.level.empty()) return "";
  return fmt::format(", but {} {} not differ from it clearly", listed(labels_at(task, winner.level)),
                     winner.level.size() == 1 ? "does" : "do");
}

std::string beaten_clause(const TaskAnalysis& task, const Winner& winner) {
  if (winner.beaten.empty()) return "";
  const bool all = winner.level.empty() && winner.ahead.empty() && winner.unknown.empty();
  if (winner.beaten.size() <= 2)
    return fmt::format("; it is clearly better than {}", listed(labels_at(task, winner.beaten)));
  return fmt::format("; it is clearly better than {} {}", all ? "all" : "the",
                     all ? "others" : "other " + std::to_string(winner.beaten.size()));
}

std::string unknown_clause(const TaskAnalysis& task, const Winner& winner) {
  std::string text;
  if (!winner.ahead.empty()) {
    text += fmt::format("; over the seeds in common {} {} clearly better", listed(labels_at(task, winner.ahead)),
                        winner.ahead.size() == 1 ? "is" : "are");
  }
  if (!winner.unknown.empty()) {
    text += fmt::format("; {} can't be compared: too few seeds", listed(labels_at(task, winner.unknown)));
  }
  return text;
}

std::string diverged_clause(const TaskAnalysis& task) {
  std::vector<std::string> names;
  for (const auto& arm : task.arms) {
    if (arm.diverged > 0 && !arm.arm->control) {
      names.push_back(fmt::format("{} with {} of {}", arm.label(), arm.diverged, counted(arm.seeds, "seed")));
    }
  }
  return names.empty() ? "" : fmt::format("; diverged: {}", listed(names));
}

bool contains_position(const std::vector<std::size_t>& positions, const std::optional<std::size_t>& position) {
  return position && std::find(positions.begin(), positions.end(), *position) != positions.end();
}

// When the challenger lost: by how much.
std::string challenger_sentence(const TaskAnalysis& task, const Winner& winner, const std::string& challenger) {
  if (!task.challenger) return fmt::format(" {} did not take part.", challenger);
  const auto& entry = task.arms[*task.challenger];
  if (entry.seeds == 0) return fmt::format(" {} has no result.", entry.label());
  if (!contains_position(winner.beaten, task.challenger)) return "";
  const auto& best = task.arms[winner.arm];
  if (!std::isfinite(best.challenger.low) || entry.diverged > 0) {
    return fmt::format(" {} lost: {}.", entry.label(), mean_text(entry, task.task->metric));
  }
  return fmt::format(" {} lost: {}, which differs by {} ({}).", entry.label(), mean_text(entry, task.task->metric),
                     difference_text(task.task->metric, best.challenger.mean),
                     interval_text(task.task->metric, best.challenger.low, best.challenger.high));
}

std::string no_winner_sentence(const TaskAnalysis& task) {
  std::size_t ran = 0;
  for (const auto& arm : task.arms) ran += !arm.arm->control && arm.seeds > 0 ? 1 : 0;
  if (ran == 0) return fmt::format("{}: no result yet.", task.task->name);
  return fmt::format("{}: nobody won{}.", task.task->name, diverged_clause(task));
}

}  // namespace

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string counted(std::size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string metric_words(std::string metric) {
  std::replace(metric.begin(), metric.end(), '_', ' ');
  return metric;
}

std::string mean_text(const ArmAnalysis& arm, const std::string& metric) {
  if (arm.seeds == 0) return "no result";
  if (arm.diverged > 0) return fmt::format("diverged with {} of {}", arm.diverged, counted(arm.seeds, "seed"));
  return with_spread(metric, arm.mean, (arm.high - arm.low) / 2);
}

std::string verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "better";
    case Verdict::worse:
      return "worse";
    case Verdict::unclear:
      return "no clear difference";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

std::string winner_sentence(const TaskAnalysis& task, const std::string& challenger) {
  if (!task.winner) return no_winner_sentence(task);
  const auto& winner = *task.winner;
  const auto& best = task.arms[winner.arm];
  const auto& metric = task.task->metric;
  const auto extreme = study::larger_is_better(metric) ? "highest" : "lowest";
  const bool alone = winner.beaten.size() + winner.level.size() + winner.ahead.size() + winner.unknown.size() == 0;
  const bool won = winner.level.empty() && winner.ahead.empty() && winner.unknown.empty() && !alone;
  auto text =
      fmt::format("{}: {}{} {} {} {}, {} ({})", task.task->name, winner.level.empty() ? "" : "no clear winner; ",
                  best.label(), won ? "won with the" : "has the", extreme, metric_words(metric),
                  mean_text(best, metric), counted(best.seeds, "seed"));
  if (alone) return text + "; no other optimizer took part.";
  text += level_clause(task, winner) + beaten_clause(task, winner) + unknown_clause(task, winner) +
          diverged_clause(task) + ".";
  return text + challenger_sentence(task, winner, challenger);
}

std::string comparison_text(const TaskAnalysis& task, const ArmAnalysis& arm,
                            const std::vector<const ArmAnalysis*>& others) {
  const auto& metric = task.task->metric;
  std::vector<std::pair<Verdict, std::vector<std::string>>> groups = {
      {Verdict::better, {}}, {Verdict::unclear, {}}, {Verdict::worse, {}}, {Verdict::unknown, {}}};
  for (const auto* other : others) {
    const auto difference = study::paired_difference(arm.arm->values, other->arm->values);
    auto name = other->label();
    if (std::isfinite(difference.low)) {
      name += fmt::format(" ({}, {})", difference_text(metric, difference.mean),
                          interval_text(metric, difference.low, difference.high));
    }
    for (auto& [verdict, names] : groups) {
      if (verdict == contest_verdict(metric, difference)) names.push_back(name);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [verdict, names] : groups) {
    if (names.empty()) continue;
    const auto* introduction = verdict == Verdict::better    ? "clearly better than"
                               : verdict == Verdict::worse   ? "clearly worse than"
                               : verdict == Verdict::unclear ? "not clearly different from"
                                                             : "not compared yet with";
    parts.push_back(fmt::format("{} {}", introduction, listed(names)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string control_sentence(const TaskAnalysis& task) {
  if (!task.challenger) return "";
  std::vector<const ArmAnalysis*> controls;
  for (const auto& arm : task.arms) {
    if (arm.arm->control) controls.push_back(&arm);
  }
  if (controls.empty()) return "";
  const auto& challenger = task.arms[*task.challenger];
  return fmt::format("Controls: {} is {}.", challenger.label(), comparison_text(task, challenger, controls));
}

std::string power_sentence(const TaskAnalysis& task) {
  if (!task.power || !task.baseline) return "";
  const auto& power = *task.power;
  const auto& metric = task.task->metric;
  const double mean = std::abs(task.arms[*task.baseline].mean);
  auto text = fmt::format(
      "With {} a difference of {} from {} is found with 80 % power (two-sided, 5 %), as a paired difference has a "
      "standard deviation of {} (median over the optimizers)",
      counted(power.seeds, "seed"), metric_number(metric, power.detectable), task.arms[*task.baseline].label(),
      metric_number(metric, power.spread));
  if (!(power.effect > 0.0) || !std::isfinite(mean)) return text + ".";
  text += fmt::format("; the difference worth finding, {:.3g} % of {}'s mean or {}, takes ", 100 * task.task->effect,
                      task.arms[*task.baseline].label(), metric_number(metric, power.effect));
  return text + (power.needed ? counted(*power.needed, "seed") : std::string("more than 100,000 seeds")) + ".";
}

}  // namespace lehi::report
