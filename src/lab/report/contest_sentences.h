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

/// An arm against others: "clearly better than soap (-0.1, -0.2 to -0.05); not clearly different from muon (...)". Arms
/// without a common result are not compared yet.
std::string comparison_text(const TaskAnalysis& task, const ArmAnalysis& arm,
                            const std::vector<const ArmAnalysis*>& others);

/// How the advantage of the challenger over the baseline, and that of the probe over the challenger without it, depend
/// on the batch size. Without a probe in the question: the challenger's advantage over each control.
std::vector<std::string> panel_sentences(const BatchPanel& panel, const contest::Question& question);

}  // namespace lehi::report
