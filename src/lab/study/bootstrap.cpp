#include "study/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "runtime/message.h"

namespace lehi::study {
namespace {

constexpr std::size_t kMostExact = 10;  // values up to which all resamples are counted
constexpr std::size_t kResamples = 10'000;

struct WeightedMean {
  double mean;
  double weight;  ///< number of samples with this mean, out of n^n
};

/// Enumerates how often (k1, k2, ...) each value is drawn in n draws: n! / (k1! k2! ...) samples each.
class Samples {
 public:
  explicit Samples(const std::vector<double>& values) : values_(values) {}

  std::vector<WeightedMean> all() {
    const auto n = values_.size();
    double weight = 1.0;
    for (std::size_t i = 2; i <= n; ++i) weight *= static_cast<double>(i);
    draw(0, n, 0.0, weight);
    return std::move(means_);
  }

 private:
  void draw(std::size_t value, std::size_t left, double sum, double weight) {
    if (value + 1 == values_.size()) {
      for (std::size_t i = 2; i <= left; ++i) weight /= static_cast<double>(i);
      sum += static_cast<double>(left) * values_[value];
      means_.push_back({sum / static_cast<double>(values_.size()), weight});
      return;
    }
    for (std::size_t times = 0; times <= left; ++times) {
      if (times > 1) weight /= static_cast<double>(times);
      draw(value + 1, left - times, sum + static_cast<double>(times) * values_[value], weight);
    }
  }

  const std::vector<double>& values_;
  std::vector<WeightedMean> means_;
};

std::vector<WeightedMean> drawn_samples(const std::vector<double>& values) {
  std::mt19937_64 engine(20'240'506);  // NOLINT(cert-msc51-cpp): a fixed seed gives the same interval every time
  const auto n = values.size();
  std::vector<WeightedMean> means;
  means.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    double sum = 0.0;
    // Not a distribution of <random>: those differ between libraries. The bias of the remainder is n / 2^64.
    for (std::size_t k = 0; k < n; ++k) sum += values[engine() % n];
    means.push_back({sum / static_cast<double>(n), 1.0});
  }
  return means;
}

}  // namespace

Interval bootstrap_mean(std::vector<double> values, double confidence) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!(confidence > 0.0 && confidence < 1.0))
    throw_invalid_argument("confidence is {}, expected a number in (0, 1)", confidence);
  const bool finite = std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (values.size() < 2 || !finite) return {nan, nan};
  std::sort(values.begin(), values.end());
  auto means = values.size() <= kMostExact ? Samples(values).all() : drawn_samples(values);
  std::sort(means.begin(), means.end(), [](const auto& a, const auto& b) { return a.mean < b.mean; });
  double total = 0.0;
  for (const auto& entry : means) total += entry.weight;
  // The first mean from either side at which the tail is complete; the factor allows for rounding errors.
  const double tail = (1.0 - confidence) / 2.0 * total * (1.0 - 1e-12);
  const auto from = [tail](auto entry) {
    double sum = 0.0;
    for (;; ++entry) {
      sum += entry->weight;
      if (sum >= tail) return entry->mean;
    }
  };
  return {from(means.begin()), from(means.rbegin())};
}

}  // namespace lehi::study
