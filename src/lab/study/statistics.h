// Statistics of a study's runs: the window at the end of a run, mean and deviation over seeds, and the difference of
// two optimizers over their common seeds. A value that is not finite stands for a run that diverged.
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

/// NaN for an empty vector.
double mean_of(const std::vector<double>& values);

/// True for metrics whose name ends in "accuracy"; for all others smaller is better.
bool larger_is_better(std::string_view metric);

/// True when `a` is strictly better than `b`. Finite values are better than values that are not.
bool better(std::string_view metric, double a, double b);

/// The last evaluations of a run.
struct Window {
  std::int64_t count = 0;  ///< number of evaluations
  double mean = 0.0;       ///< NaN when an evaluation was not finite
  double two_std = 0.0;    ///< twice the standard deviation (n - 1); NaN without a mean or with one evaluation
  double score = 0.0;      ///< mean + 2 std for losses, mean - 2 std for accuracies; the mean with one evaluation
  std::vector<double> values = {};  ///< the evaluations, oldest first; empty in studies of earlier versions
};

/// The window of these evaluations, of which there is at least one.
Window window_over(std::string_view metric, std::vector<double> values);

/// The window of `metric` over the last `size` lines of metrics.jsonl (all lines of a shorter run); nothing when one of
/// them lacks the metric.
std::optional<Window> window_of(const std::vector<nlohmann::json>& lines, const std::string& metric, std::int64_t size);

/// Mean and standard deviation (n - 1) over seeds.
struct MeanAndStd {
  std::size_t count = 0;  ///< number of values, diverged ones included
  double mean = 0.0;      ///< NaN when a value is not finite (a diverged seed counts as worst) or there is none
  double std = 0.0;       ///< NaN without a mean or with one value
};
MeanAndStd mean_and_std(const std::vector<double>& values);

/// The mean over seeds, where a diverged seed counts as worst: plus infinity for losses, minus infinity for accuracies.
double mean_with_worst(std::string_view metric, const std::vector<double>& values);

/// The t with P(|T| <= t) = `confidence` for Student's t distribution with `degrees` >= 1 degrees of freedom.
double student_t(double confidence, std::size_t degrees);

/// The probability that a fair coin gives `wins` heads and `losses` tails, or a result that is as far from even. 1 for
/// no throw.
double sign_test(std::size_t wins, std::size_t losses);

/// The results of one optimizer minus those of another with the same seeds.
struct PairedDifference {
  std::vector<double> differences;  ///< one per seed with which neither diverged
  std::size_t diverged = 0;         ///< seeds with which only the first diverged
  std::size_t other_diverged = 0;   ///< seeds with which only the second diverged
  std::size_t both_diverged = 0;
  double mean = 0.0;  ///< NaN without differences
  double low = 0.0;   ///< 95 % interval of the mean by Student's t; NaN with fewer than two differences
  double high = 0.0;
  Interval bootstrap = {};  ///< 95 % interval of the mean by resampling seeds (bootstrap.h); NaN in the same cases
};

struct SeedValue {
  std::uint64_t seed = 0;
  double value = 0.0;
};

/// Over the common seeds, in the order of `values`.
PairedDifference paired_difference(const std::vector<SeedValue>& values, const std::vector<SeedValue>& others);

enum class Verdict { better, worse, unclear, unknown };

/// better or worse when Student's interval excludes 0, or when one of the two diverged and the other never did. The
/// bootstrap interval has no influence: with few seeds it is too narrow (bootstrap.h).
Verdict verdict(std::string_view metric, const PairedDifference& difference);

/// The verdict in words: "better than adam with 3 seeds", "no clear difference from adam with 3 seeds".
std::string verdict_text(std::string_view metric, const PairedDifference& difference, std::string_view other);

}  // namespace lehi::study
