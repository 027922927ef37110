#include "contest/choices.h"

#include <algorithm>
#include <cmath>

namespace lehi::contest {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0.0; }

}  // namespace

std::size_t best_trial(const std::vector<Trial>& trials, std::string_view metric) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (study::better(metric, trials[i].value, trials[best].value)) best = i;
  }
  return best;
}

std::optional<StepTime> step_time(const std::vector<double>& seconds, const std::vector<double>& baseline) {
  std::vector<double> ratios;
  std::vector<double> times;
  for (std::size_t i = 0; i < std::min(seconds.size(), baseline.size()); ++i) {
    if (!is_time(seconds[i]) || !is_time(baseline[i])) continue;
    ratios.push_back(seconds[i] / baseline[i]);
    times.push_back(seconds[i]);
  }
  if (ratios.empty()) return {};
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  return StepTime{.ratio = median(ratios), .low = *low, .high = *high, .seconds = median(times)};
}

const std::vector<double>& speed_up_fractions() {
  static const std::vector<double> fractions = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
  return fractions;
}

std::optional<std::size_t> next_position(const std::map<std::size_t, bool>& reached, std::size_t count) {
  std::size_t first = 0;  // everything before it is too early
  for (const auto& [position, is_reached] : reached) {
    if (!is_reached) first = std::max(first, position + 1);
  }
  const auto last = smallest_reached(reached).value_or(count);
  if (first >= last) return {};
  return first + (last - first) / 2;
}

std::optional<std::size_t> smallest_reached(const std::map<std::size_t, bool>& reached) {
  for (const auto& [position, is_reached] : reached) {
    if (is_reached) return position;
  }
  return {};
}

bool reaches(const std::vector<study::SeedValue>& values, double target, std::string_view metric) {
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const auto& value : values) numbers.push_back(value.value);
  const double mean = study::mean_of(numbers);
  return std::isfinite(mean) && !study::better(metric, target, mean);
}

}  // namespace lehi::contest
