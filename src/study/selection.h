// Which learning rate an optimizer is to be judged with. A rate's score is the mean of its seeds' scores, a seed that
// diverged counting as worst.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

/// The runs of one optimizer at one rate, one a seed.
struct RateRuns {
  double lr = 0.0;
  std::vector<const StudyRun*> runs;

  std::size_t finished() const;  ///< done or diverged
  std::size_t diverged() const;
};

/// The runs of one optimizer on one task, rates ascending.
struct VariantRuns {
  std::string task;
  std::string variant;
  std::string optimizer;
  std::vector<RateRuns> rates;

  std::vector<const StudyRun*> all() const;
};

/// In the order in which they first appear; the pointers are into `runs`.
std::vector<VariantRuns> group_runs(const std::vector<const StudyRun*>& runs);
std::vector<const StudyRun*> pointers_to(const std::vector<StudyRun>& runs);

/// The mean over the finished seeds of score or window mean; infinite (the bad way) when one diverged, NaN when none
/// finished.
double mean_score(const RateRuns& runs, const std::string& metric);
double mean_of_windows(const RateRuns& runs, const std::string& metric);

struct Selection {
  std::size_t index = 0;  ///< in VariantRuns::rates
  double lr = 0.0;
  double score = 0.0;    ///< infinite when every rate had a seed that diverged
  bool at_edge = false;  ///< the smallest or largest of several rates: the best one may lie outside
};

/// The best by mean_score among the rates that finished with the most seeds; the smaller one of two that are equal.
/// Nothing when no run has finished.
std::optional<Selection> select_rate(const VariantRuns& variant, const std::string& metric);

/// A sentence when the selection is at the edge, else "".
std::string edge_warning(const VariantRuns& variant, const Selection& selection, const std::string& metric);

}  // namespace lehi::study
