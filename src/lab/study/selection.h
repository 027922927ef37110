// Which learning rate an optimizer is to be judged with. A rate's score is the mean of its seeds' scores, a seed that
// diverged counting as worst. The paper's summary tables have another number, the score of the curve that is the mean
// over seeds: seed_averaged(). Averaging curves averages their noise away, so that score is the more flattering one.
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

/// What becomes of a diverged seed in an average over seeds.
enum class Diverged {
  worst,    ///< the average is not finite
  dropped,  ///< it is left out, as the paper seems to do: for a number beside the paper's only
};

/// The window of the seed-averaged curve: of the evaluations' means over the finished seeds. Nothing when no seed
/// finished, when their windows differ in length, or when the study does not have the single evaluations.
std::optional<Window> seed_averaged(const RateRuns& runs, const std::string& metric,
                                    Diverged diverged = Diverged::worst);

/// What rates are ranked by.
enum class ScoreOf {
  seeds,  ///< mean_score()
  curve,  ///< the score of seed_averaged()
};

struct Selection {
  std::size_t index = 0;  ///< in VariantRuns::rates
  double lr = 0.0;
  double score = 0.0;    ///< infinite when every rate had a seed that diverged
  bool at_edge = false;  ///< the smallest or largest of several rates: the best one may lie outside
};

/// The best rate; the smaller one of two that are equal. Nothing when no run has finished (or, by the curve, when no
/// rate has a finite one).
///
/// A rate with a diverged seed is taken only when every rate has one. Rates that were run with different seeds are
/// compared over the seeds that they share, since seeds differ in how hard they are. Where some rates have more seeds
/// than all share, as after the second phase of a two-phase study, the best of those over the shared seeds says which
/// seeds count next, the rates that lack one of them are out, and so on until the rest share all of them. (Just to take
/// the rates with the most seeds would be wrong where studies are merged: a bad rate that somebody ran with ten seeds.)
std::optional<Selection> select_rate(const VariantRuns& variant, const std::string& metric,
                                     ScoreOf score_of = ScoreOf::seeds);

/// The rates whose mean_score is finite, the best first, the smaller one of two equal ones first; no more than `count`.
std::vector<double> best_rates(const VariantRuns& variant, const std::string& metric, std::size_t count);

/// A sentence when the selection is at the edge, else "". The grid is all of the variant's rates, also those without a
/// second phase.
std::string edge_warning(const VariantRuns& variant, const Selection& selection, const std::string& metric);

}  // namespace lehi::study
