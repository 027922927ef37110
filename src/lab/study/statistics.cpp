#include "study/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/message.h"

namespace lehi::study {
namespace {

constexpr double kScoreDeviations = 2.0;  // the paper's c: how many standard deviations a score adds

double std_of(const std::vector<double>& values, double mean) {
  if (values.size() < 2) return kNan;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());  // 0 / 0 is NaN
}

bool larger_is_better(std::string_view metric) { return metric.ends_with("accuracy"); }

bool better(std::string_view metric, double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) && !std::isfinite(b);
  return larger_is_better(metric) ? a > b : a < b;
}

std::optional<Window> window_of(const std::vector<nlohmann::json>& lines, const std::string& metric,
                                std::int64_t size) {
  const auto count = std::min<std::size_t>(lines.size(), static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
  std::vector<double> values;
  for (std::size_t i = lines.size() - count; i < lines.size(); ++i) {
    const auto found = lines[i].find(metric);
    if (found == lines[i].end() || !(found->is_number() || found->is_null())) return {};
    values.push_back(found->is_null() ? kNan : found->get<double>());
  }
  if (values.empty()) return {};
  return window_over(metric, std::move(values));
}

Window window_over(std::string_view metric, std::vector<double> values) {
  Window window{.count = static_cast<std::int64_t>(values.size()), .mean = kNan, .two_std = kNan, .score = kNan};
  if (all_finite(values)) {
    window.mean = mean_of(values);
    window.score = window.mean;
    if (values.size() > 1) {
      const double std = std_of(values, window.mean);
      window.two_std = 2.0 * std;
      window.score += (larger_is_better(metric) ? -kScoreDeviations : kScoreDeviations) * std;
    }
  }
  window.values = std::move(values);
  return window;
}

MeanAndStd mean_and_std(const std::vector<double>& values) {
  if (values.empty() || !all_finite(values)) return {.count = values.size(), .mean = kNan, .std = kNan};
  const double mean = mean_of(values);
  return {.count = values.size(), .mean = mean, .std = std_of(values, mean)};
}

double mean_with_worst(std::string_view metric, const std::vector<double>& values) {
  if (!values.empty() && all_finite(values)) return mean_of(values);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return larger_is_better(metric) ? -infinity : infinity;
}

double student_t(double confidence, std::size_t degrees) {
  if (!(confidence > 0.0 && confidence < 1.0))
    throw_invalid_argument("confidence is {}, expected a number in (0, 1)", confidence);
  if (degrees == 0) throw_invalid_argument("Student's t has 0 degrees of freedom, expected at least 1");
  const boost::math::students_t distribution(static_cast<double>(degrees));
  return boost::math::quantile(boost::math::complement(distribution, (1.0 - confidence) / 2.0));
}

double sign_test(std::size_t wins, std::size_t losses) {
  if (wins == losses) return 1.0;
  const boost::math::binomial distribution(static_cast<double>(wins + losses), 0.5);
  return std::min(1.0, 2.0 * boost::math::cdf(distribution, static_cast<double>(std::min(wins, losses))));
}

PairedDifference paired_difference(const std::vector<SeedValue>& values, const std::vector<SeedValue>& others) {
  PairedDifference result;
  for (const auto& [seed, value] : values) {
    const auto other = std::find_if(others.begin(), others.end(), [s = seed](const auto& o) { return o.seed == s; });
    if (other == others.end()) continue;
    const bool diverged = !std::isfinite(value);
    const bool other_diverged = !std::isfinite(other->value);
    if (diverged && !other_diverged) ++result.diverged;
    if (other_diverged && !diverged) ++result.other_diverged;
    if (other_diverged && diverged) ++result.both_diverged;
    if (!diverged && !other_diverged) result.differences.push_back(value - other->value);
  }
  result.mean = result.low = result.high = kNan;
  result.bootstrap = bootstrap_mean(result.differences);
  const auto count = result.differences.size();
  if (count == 0) return result;
  result.mean = mean_of(result.differences);
  if (count == 1) return result;
  const double error = std_of(result.differences, result.mean) / std::sqrt(static_cast<double>(count));
  const double half = student_t(0.95, count - 1) * error;
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

Verdict verdict(std::string_view metric, const PairedDifference& difference) {
  const auto diverged = difference.diverged + difference.both_diverged;
  const auto other_diverged = difference.other_diverged + difference.both_diverged;
  if (diverged > 0 && other_diverged > 0) return Verdict::unknown;
  if (diverged > 0) return Verdict::worse;
  if (other_diverged > 0) return Verdict::better;
  if (difference.differences.size() < 2) return Verdict::unknown;
  if (difference.low <= 0.0 && difference.high >= 0.0) return Verdict::unclear;
  return (difference.mean > 0.0) == larger_is_better(metric) ? Verdict::better : Verdict::worse;
}

std::string verdict_text(std::string_view metric, const PairedDifference& difference, std::string_view other) {
  const auto diverged = difference.diverged + difference.both_diverged;
  const auto other_diverged = difference.other_diverged + difference.both_diverged;
  const auto seeds = difference.differences.size() + difference.diverged + other_diverged;
  const auto seed_count = fmt::format("{} seed{}", seeds, seeds == 1 ? "" : "s");
  switch (verdict(metric, difference)) {
    case Verdict::better:
      if (other_diverged == 0) return fmt::format("better than {} with {}", other, seed_count);
      return fmt::format("better than {}, which diverged on {} of {}", other, other_diverged, seed_count);
    case Verdict::worse:
      if (diverged == 0) return fmt::format("worse than {} with {}", other, seed_count);
      return fmt::format("worse than {}: diverged on {} of {}", other, diverged, seed_count);
    case Verdict::unclear:
      return fmt::format("no clear difference from {} with {}", other, seed_count);
    case Verdict::unknown:
      break;
  }
  if (diverged > 0) return fmt::format("diverged on {}, {} on {}, of {}", diverged, other, other_diverged, seed_count);
  if (seeds == 0) return fmt::format("no seed that {} finished with too", other);
  return fmt::format("{} says nothing about the spread", seed_count);
}

}  // namespace lehi::study
