// What a contest found out, in sentences computed from its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/contest_analysis.h"

namespace lehi::report {

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words);

/// "1 seed", "8 seeds".
std::string counted(std::size_t count, const std::string& word);

/// "test loss" for "test_loss".
std::string metric_words(std::string metric);

/// The mean with half its 95 % interval, "1.2830 ± 0.0040"; "diverged with 2 of 8 seeds"; "no result".
std::string mean_text(const ArmAnalysis& arm, const std::string& metric);

/// "better", "worse", "no clear difference", "unknown".
std::string verdict_word(study::Verdict verdict);

/// Who won: "gpt-small: no clear winner; muon has the lowest test loss, 1.2830 ± 0.0040 (8 seeds), but soap does not
/// differ from it clearly; it is clearly better than the other 7." Ends with the challenger, if that one is clearly
/// worse.
std::string winner_sentence(const TaskAnalysis& task, const std::string& challenger);

/// The challenger against each control; "" for a task without controls or without the challenger.
std::string control_sentence(const TaskAnalysis& task);

/// The smallest difference that the seeds find, and how many would find the one that was asked for; "" if unknown.
std::string power_sentence(const TaskAnalysis& task);

/// How the advantage of the challenger depends on the batch size: against the baseline, then against each control of
/// the panel.
std::vector<std::string> panel_sentences(const BatchPanel& panel, const std::string& challenger);

enum class Outcome : std::uint8_t { met, not_met, not_measured };
std::string outcome_text(Outcome outcome);  ///< "met", "not met", "not measured"

/// The answer to one of the contest's questions.
struct Answer {
  char letter = 'a';
  std::string goal;  ///< a sentence
  Outcome outcome = Outcome::not_measured;
  std::vector<std::string> sentences;  ///< the numbers behind the outcome
};

/// (a) the speed-up over the baseline on GPT and ResNet tasks, (b) the challenger against rivals and all others on GPT
/// tasks, (c) against the best of the classics on all tasks, (d) against the controls, and their advantage by batch
/// size. A GPT task has "gpt" in its name, a ResNet task "resnet". (a), (b) and the controls of (d) leave out tasks of
/// a batch-size panel. A goal that one task misses is not met; else one that some task has no result for, or that no
/// task is there for, is not measured.
std::vector<Answer> answers(const contest::Result& result, const std::vector<TaskAnalysis>& tasks);

}  // namespace lehi::report
