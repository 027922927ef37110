#include "plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace lehi::plot {
namespace {

constexpr double slack = 1e-9;  // of a step: an end within rounding of a tick has that tick

// The double nearest to digits * 10^exponent. (Multiplying by a power of ten would add rounding.)
double decimal(std::int64_t digits, int exponent) {
  const auto text = fmt::format("{}e{}", digits, exponent);
  double value = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Ticks linear_ticks(double low, double high, int wanted) {
  const double smallest_step = (high - low) / std::max(wanted, 1);
  int exponent = static_cast<int>(std::floor(std::log10(smallest_step)));
  std::int64_t digit = 1;
  for (const int candidate : {1, 2, 5, 10}) {
    digit = candidate;
    if (decimal(candidate, exponent) >= smallest_step * (1 - slack)) break;
  }
  if (digit == 10) {
    digit = 1;
    ++exponent;
  }
  const double step = decimal(digit, exponent);
  const auto first = static_cast<std::int64_t>(std::ceil(low / step - slack));
  const auto last = static_cast<std::int64_t>(std::floor(high / step + slack));
  Ticks ticks;
  const double largest =
      std::max(std::abs(decimal(first * digit, exponent)), std::abs(decimal(last * digit, exponent)));
  if (largest >= 1e5 || largest < 1e-3) ticks.exponent = static_cast<int>(std::floor(std::log10(largest)));
  const int decimals = std::max(0, ticks.exponent - exponent);
  for (std::int64_t k = first; k <= last; ++k) {
    ticks.major.push_back(
        {.value = decimal(k * digit, exponent),
         .label = with_minus(fmt::format("{:.{}f}", decimal(k * digit, exponent - ticks.exponent), decimals))});
  }
  const std::int64_t parts = digit == 2 ? 4 : 5;
  const double part = step / static_cast<double>(parts);
  const auto last_part = static_cast<std::int64_t>(std::floor(high / part + slack));
  for (auto k = static_cast<std::int64_t>(std::ceil(low / part - slack)); k <= last_part; ++k) {
    if (k % parts != 0) ticks.minor.push_back(static_cast<double>(k) * part);
  }
  return ticks;
}

Tick log_tick(int digit, int exponent, bool plain) {
  Tick tick{.value = decimal(digit, exponent)};
  if (plain) {
    tick.label = fmt::format("{:g}", tick.value);
  } else {
    tick.label = digit == 1 ? "10" : fmt::format("{}×10", digit);
    tick.superscript = with_minus(std::to_string(exponent));
  }
  return tick;
}

Ticks log_ticks(double low, double high, int wanted) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - slack));
  const int last = static_cast<int>(std::floor(std::log10(high) + slack));
  const int decades = last - first + 1;
  const auto inside = [&](double value) { return value >= low * (1 - slack) && value <= high * (1 + slack); };
  Ticks ticks;
  if (decades >= 3) {
    const int stride = (decades + wanted - 1) / std::max(wanted, 1);
    for (int k = first - 1; k <= last + 1; ++k) {
      const bool labelled = k % stride == 0;
      if (inside(decimal(1, k))) {
        if (labelled) {
          ticks.major.push_back(log_tick(1, k, false));
        } else {
          ticks.minor.push_back(decimal(1, k));
        }
      }
      for (int digit = 2; stride == 1 && digit <= 9; ++digit) {
        if (inside(decimal(digit, k))) ticks.minor.push_back(decimal(digit, k));
      }
    }
    return ticks;
  }
  const bool plain = low >= 1e-3 && high < 1e4;
  for (int k = first - 1; k <= last + 1; ++k) {
    for (int digit = 1; digit <= 9; ++digit) {
      if (!inside(decimal(digit, k))) continue;
      if (digit == 1 || digit == 2 || digit == 5) {
        ticks.major.push_back(log_tick(digit, k, plain));
      } else {
        ticks.minor.push_back(decimal(digit, k));
      }
    }
  }
  return ticks.major.size() >= 3 ? ticks : linear_ticks(low, high, wanted);
}

}  // namespace

Ticks make_ticks(bool log, double low, double high, int wanted) {
  return log ? log_ticks(low, high, wanted) : linear_ticks(low, high, wanted);
}

std::string with_minus(std::string number) {
  if (!number.empty() && number[0] == '-') number.replace(0, 1, "−");
  return number;
}

}  // namespace lehi::plot
