#include "bench/contest.h"

#include <algorithm>
#include <chrono>
#include <limits>

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
  if (found == seconds_.end()) refuse("nothing was timed under the name {}", name);
  return median(found->second);
}

double Times::sum_of(const Sum& sum, std::size_t round) const {
  double total = 0.0;
  for (const auto& [name, weight] : sum) {
    const auto found = seconds_.find(name);
    if (found == seconds_.end()) refuse("nothing was timed under the name {}", name);
    total += weight * found->second.at(round);
  }
  return total;
}

double Times::ratio(const Sum& above, const Sum& below) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rounds(); ++round) ratios.push_back(sum_of(above, round) / sum_of(below, round));
  return median(ratios);
}

void Contest::add_timed(std::vector<std::string> names, Turn turn) {
  contestants_.emplace_back(std::move(names), std::move(turn));
}

void Contest::add(const std::string& name, std::function<void()> work, int calls) {
  add_timed({name}, [work = std::move(work), calls]() -> std::vector<double> {
    return {seconds_of([&] {
              for (int i = 0; i < calls; ++i) work();
            }) /
            calls};
  });
}

Times Contest::run(int rounds, const std::function<void(int round)>& starts) const {
  Times times;
  for (int round = 0; round <= rounds; ++round) {
    if (starts) starts(round);
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      const auto& [names, turn] = contestants_[round % 2 == 0 ? i : contestants_.size() - 1 - i];
      const auto seconds = turn();
      for (std::size_t part = 0; part < names.size() && round > 0; ++part) times.add(names[part], seconds.at(part));
    }
  }
  return times;
}

}  // namespace lehi::bench
