#include "bench/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace lehi::bench {

double seconds_left(double elapsed, double done, double expected) {
  constexpr double enough = 0.1;
  const double fraction = expected > 0.0 ? std::min(1.0, done / expected) : 1.0;
  const double pace = fraction >= enough ? elapsed / (fraction * expected) : 1.0;
  return (1.0 - fraction) * expected * pace;
}

BenchProgress::BenchProgress(std::ostream& err, double expected) : err_(err), expected_(expected) {}

void BenchProgress::begin(std::string topic, double expected) {
  finished_ += std::exchange(current_, expected);
  topic_ = std::move(topic);
  printed_ = -1e9;  // so that its first line is printed
}

void BenchProgress::show(const std::string& what, double fraction) {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  constexpr double interval = 2.0;
  if (elapsed - printed_ < interval) return;
  printed_ = elapsed;
  const double done = finished_ + std::clamp(fraction, 0.0, 1.0) * current_;
  const auto left = static_cast<int>(seconds_left(elapsed, done, expected_));
  err_ << fmt::format("lehi: {}: {} ({:.0f} %, about {}:{:02} left)\n", topic_, what,
                      expected_ > 0.0 ? 100.0 * done / expected_ : 0.0, left / 60, left % 60)
       << std::flush;
}

}  // namespace lehi::bench
