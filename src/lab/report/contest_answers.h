// The answers to a contest's questions, computed from its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/contest_analysis.h"

namespace lehi::report {

enum class Outcome : std::uint8_t { met, not_met, not_shown, not_measured };
std::string outcome_text(Outcome outcome);  ///< "met", "not met", "not shown", "not measured"

/// Of parts that must all be met: not met if one is not; else not measured if one is not or there is none; else not
/// shown if one is not.
Outcome joined(const std::vector<Outcome>& outcomes);

/// The answer to one of the contest's questions.
struct Answer {
  char letter = 'a';
  std::string goal;  ///< a sentence
  Outcome outcome = Outcome::not_measured;
  std::vector<std::string> sentences;  ///< the numbers behind the outcome
};

/// The tasks that are in no batch-size panel.
std::vector<const TaskAnalysis*> outside_panels(const std::vector<TaskAnalysis>& tasks);

/// (a) The speed-up over the baseline on GPT and ResNet tasks: those with "gpt" or "llama", or "resnet", in their name.
Answer speed_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

/// (b) The challenger against rivals and all others on GPT tasks.
Answer rivals_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

/// (c) The challenger against the best of the classics on all tasks.
Answer classics_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

/// (d) Whether the probe is the cause: the challenger with it against the challenger without it and all controls, and
/// how its gain grows with the batch size. Without a probe in the question: the challenger against all controls.
Answer probe_answer(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

/// All four.
std::vector<Answer> answers(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

}  // namespace lehi::report
