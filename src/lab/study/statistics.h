// What a study says about its runs in numbers: the window at a run's end, the spread over seeds, and the difference of
// two optimizers over the seeds that both ran with. A value that is not finite stands for a run that diverged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/bootstrap.h"

namespace lehi::study {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// NaN of nothing.
double mean_of(const std::vector<double>& values);

/// True for metrics whose name ends in "accuracy"; of all others less is better.
bool larger_is_better(std::string_view metric);

/// True when `a` is strictly better than `b`. Any number is better than one that is not finite.
bool better(std::string_view metric, double a, double b);

/// How many standard deviations a score takes off: the paper's c.
inline constexpr double kScoreDeviations = 2.0;

/// The last evaluations of a run.
struct Window {
  std::int64_t count = 0;  ///< evaluations in it
  double mean = 0.0;       ///< NaN when one of them was not finite
  double two_std = 0.0;    ///< twice the standard deviation (n - 1); NaN when the mean is, or with one evaluation
  double score = 0.0;      ///< mean + 2 std for losses, mean - 2 std for accuracies; the mean with one evaluation
  std::vector<double> values = {};  ///< the evaluations themselves, oldest first; none of a study of an earlier version
};

/// Of these evaluations, of which there is at least one.
Window window_over(std::string_view metric, std::vector<double> values);

/// Of `metric` in the last `size` lines (fewer when the run has fewer) of metrics.jsonl; nothing when a line lacks it.
std::optional<Window> window_of(const std::vector<nlohmann::json>& lines, const std::string& metric, std::int64_t size);

/// Mean and standard deviation (n - 1) over seeds.
struct Spread {
  std::size_t count = 0;  ///< of values, diverged ones included
  double mean = 0.0;      ///< NaN when one diverged (it counts as worst), or of nothing
  double std = 0.0;       ///< NaN when the mean is, or of one value
};
Spread spread(const std::vector<double>& values);

/// The mean over seeds where a diverged one counts as worst: plus infinity for losses, minus for accuracies.
double mean_with_worst(std::string_view metric, const std::vector<double>& values);

/// t with P(|T| <= t) = `confidence` for Student's T with so many (>= 1) degrees of freedom.
double student_t(double confidence, std::size_t degrees);

/// What one optimizer reached with each seed less what another reached with the same seed.
struct PairedDifference {
  std::vector<double> differences;  ///< one a seed on which neither diverged
  std::size_t diverged = 0;         ///< seeds on which only the first diverged
  std::size_t other_diverged = 0;   ///< seeds on which only the second did
  std::size_t both_diverged = 0;
  double mean = 0.0;  ///< NaN without differences
  double low = 0.0;   ///< 95 % interval of the mean, Student's t; NaN with fewer than two differences
  double high = 0.0;
  Interval bootstrap = {};  ///< 95 % interval of the mean by resampling seeds, see bootstrap.h; NaN as the other
};

struct SeedValue {
  std::uint64_t seed = 0;
  double value = 0.0;
};

/// Over the seeds that both have, in the order of `values`.
PairedDifference paired_difference(const std::vector<SeedValue>& values, const std::vector<SeedValue>& others);

enum class Verdict { better, worse, unclear, unknown };

/// better or worse when Student's interval leaves out 0, or when one of the two diverged and the other never did. The
/// bootstrap's does not decide: with few seeds it is too narrow (bootstrap.h).
Verdict verdict(std::string_view metric, const PairedDifference& difference);

/// The same in words, e.g. "better than adam", "no clear difference from adam with 3 seeds".
std::string verdict_text(std::string_view metric, const PairedDifference& difference, std::string_view other);

}  // namespace lehi::study
