// Selects the learning rate that an optimizer is judged with. The score of a rate is the mean of its seeds' scores; a
// diverged seed counts as worst. The paper's summary tables use the score of the curve averaged over seeds instead, see
// seed_averaged(). That score is better, since averaging removes part of the noise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

/// The runs of one optimizer at one rate, one per seed.
struct RateRuns {
  double lr = 0.0;
  std::vector<const StudyRun*> runs;

  std::size_t finished() const;  ///< done or diverged
  std::size_t diverged() const;
};

/// The runs of one optimizer on one task, by ascending rate.
struct VariantRuns {
  std::string task;
  std::string variant;
  std::string optimizer;
  std::vector<RateRuns> rates;

  std::vector<const StudyRun*> all() const;
};

/// Groups runs by task and variant, in order of first appearance.
std::vector<VariantRuns> group_runs(const std::vector<const StudyRun*>& runs);
std::vector<const StudyRun*> pointers_to(const std::vector<StudyRun>& runs);

/// The mean of the scores, or of the window means, over the finished seeds. A diverged seed makes it plus infinity for
/// losses and minus infinity for accuracies; NaN when no seed has finished.
double mean_score(const RateRuns& runs, const std::string& metric);
double mean_of_windows(const RateRuns& runs, const std::string& metric);

/// How an average over seeds treats a diverged seed.
enum class Diverged {
  worst,    ///< the average is NaN
  dropped,  ///< the seed is omitted, as the paper seems to do; only for comparison with the paper
};

/// The window of the curve averaged over the finished seeds. Nothing when no seed has finished, when their windows
/// differ in length, or when the study (of an earlier version) does not contain the evaluations.
std::optional<Window> seed_averaged(const RateRuns& runs, const std::string& metric,
                                    Diverged diverged = Diverged::worst);

/// The score that ranks the rates.
enum class ScoreOf {
  seeds,  ///< mean_score()
  curve,  ///< the score of seed_averaged()
};

struct Selection {
  std::size_t index = 0;  ///< in VariantRuns::rates
  double lr = 0.0;
  double score = 0.0;    ///< infinite when every rate has a diverged seed
  bool at_edge = false;  ///< it is the smallest or largest of several rates: the best rate may be outside the grid
};

/// The best rate; the smaller one of two equal rates. Nothing when no run has finished, or with ScoreOf::curve when no
/// rate has a finite score.
///
/// A rate with a diverged seed is selected only when every rate has one. Rates that were run with different seeds are
/// compared over their common seeds, since some seeds are harder than others. Where some rates have more seeds than all
/// have in common, as after the second phase of a two-phase study, the best of these rates over the common seeds is
/// found; rates that lack one of its seeds are eliminated; and this is repeated until the remaining rates have the same
/// seeds. (Selecting among the rates with the most seeds would be wrong for merged studies, where a bad rate may have
/// been run with ten seeds.)
std::optional<Selection> select_rate(const VariantRuns& variant, const std::string& metric,
                                     ScoreOf score_of = ScoreOf::seeds);

/// At most `count` rates with a finite mean_score, best first; of equal ones the smaller rate first.
std::vector<double> best_rates(const VariantRuns& variant, const std::string& metric, std::size_t count);

/// A sentence when the selection is at the edge of the variant's rates (with or without a second phase), else "".
std::string edge_warning(const VariantRuns& variant, const Selection& selection, const std::string& metric);

}  // namespace lehi::study
