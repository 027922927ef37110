// Where an axis has its ticks and what they say.
#pragma once

#include <string>
#include <vector>

namespace lehi::plot {

struct Tick {
  double value = 0.0;
  std::string label;
  std::string power;  ///< the raised end of the label: "−3" of 10⁻³; mostly ""
};

struct Ticks {
  std::vector<Tick> major;
  std::vector<double> minor;  ///< without those of `major`
  int factor = 0;             ///< the labels are to be multiplied by 10^factor
};

/// Ticks from `low` to `high` (low < high), about `wanted` of them: multiples of 1, 2 or 5 times a power of ten. On a
/// log axis powers of ten, with 2 and 5 times them where it has few, and as on a linear axis where it has none.
Ticks make_ticks(bool log, double low, double high, int wanted);

/// A number's sign as it is printed: − for -.
std::string with_minus(std::string number);

}  // namespace lehi::plot
