// The ticks of an axis and their labels.
#pragma once

#include <string>
#include <vector>

namespace lehi::plot {

struct Tick {
  double value = 0.0;
  std::string label;
  std::string superscript;  ///< the end of the label: "−3" in 10⁻³; usually ""
};

struct Ticks {
  std::vector<Tick> major;
  std::vector<double> minor;  ///< not in `major`
  int exponent = 0;           ///< the labels are to be multiplied by 10^exponent
};

/// About `wanted` ticks from `low` to `high` (low < high). On a linear axis: multiples of 1, 2 or 5 times a power of
/// ten. On a log axis: powers of ten; below three decades also 2 and 5 times these; with fewer than three of those,
/// linear ticks.
Ticks make_ticks(bool log, double low, double high, int wanted);

/// Replaces a leading hyphen by a minus sign: −.
std::string with_minus(std::string number);

}  // namespace lehi::plot
