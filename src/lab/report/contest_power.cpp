#include "report/contest_power.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>

#include "runtime/message.h"
#include "study/statistics.h"

namespace lehi::report {
namespace {

constexpr std::size_t most_pairs = 100'000;

}  // namespace

double paired_power(std::size_t pairs, double size) {
  if (pairs < 2) throw_invalid_argument("the power of {} pairs, expected at least 2", pairs);
  if (std::isnan(size)) return study::kNan;
  const auto degrees = pairs - 1;
  const double centre = std::abs(size) * std::sqrt(static_cast<double>(pairs));
  if (centre > 37.0) return 1.0;  // above 0.99 also with one degree of freedom, where Boost's series converges slowly
  const double critical = study::student_t(0.95, degrees);
  if (centre == 0.0) return 0.05;
  const boost::math::non_central_t distribution(static_cast<double>(degrees), centre);
  return boost::math::cdf(boost::math::complement(distribution, critical)) + boost::math::cdf(distribution, -critical);
}

std::optional<std::size_t> pairs_needed(double size, double power) {
  if (!(power > 0.0 && power < 1.0)) throw_invalid_argument("power is {}, expected a number in (0, 1)", power);
  if (std::isnan(size) || size == 0.0 || paired_power(most_pairs, size) < power) return {};
  std::size_t low = 1;  // not enough; the power rises with the number of pairs
  std::size_t high = most_pairs;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (paired_power(middle, size) >= power ? high : low) = middle;
  }
  return high;
}

double detectable_size(std::size_t pairs, double power) {
  if (!(power > 0.05 && power < 1.0)) throw_invalid_argument("power is {}, expected a number in (0.05, 1)", power);
  double low = 0.0;
  double high = 1.0;
  while (paired_power(pairs, high) < power) high *= 2.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (paired_power(pairs, middle) >= power ? high : low) = middle;
  }
  return high;
}

}  // namespace lehi::report
