#include "bench/contest.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "runtime/message.h"

namespace lehi::bench {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Times::median_of(const std::string& name) const {
  const auto found = seconds_.find(name);
  if (found == seconds_.end()) throw_invalid_argument("no time was measured for {}", name);
  return median(found->second);
}

double Times::sum_of(const Sum& sum, std::size_t round) const {
  double total = 0.0;
  for (const auto& [name, weight] : sum) {
    const auto found = seconds_.find(name);
    if (found == seconds_.end()) throw_invalid_argument("no time was measured for {}", name);
    total += weight * found->second.at(round);
  }
  return total;
}

double Times::ratio(const Sum& numerator, const Sum& denominator) const {
  std::vector<double> ratios;
  ratios.reserve(rounds());
  for (std::size_t round = 0; round < rounds(); ++round) {
    ratios.push_back(sum_of(numerator, round) / sum_of(denominator, round));
  }
  return median(ratios);
}

void Contest::add_timed(std::vector<std::string> names, Turn turn, Work warm_up) {
  contestants_.push_back({std::move(names), std::move(turn), std::move(warm_up)});
}

void Contest::add(const std::string& name, Work work, int calls, Work warm_up) {
  Turn turn = [work = std::move(work), calls]() -> std::vector<double> {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < calls; ++i) work();
    });
    return {seconds / calls};
  };
  add_timed({name}, std::move(turn), std::move(warm_up));
}

Times Contest::run(int rounds, const std::function<void(int round)>& on_round) const {
  Times times;
  if (on_round) on_round(0);
  for (const Contestant& contestant : contestants_) {
    if (contestant.warm_up) {
      contestant.warm_up();
    } else {
      contestant.turn();
    }
  }
  for (int round = 1; round <= rounds; ++round) {
    if (on_round) on_round(round);
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      const auto& [names, turn, _] = contestants_[round % 2 == 1 ? i : contestants_.size() - 1 - i];
      const auto seconds = turn();
      for (std::size_t part = 0; part < names.size(); ++part) times.add(names[part], seconds.at(part));
    }
  }
  return times;
}

}  // namespace lehi::bench
