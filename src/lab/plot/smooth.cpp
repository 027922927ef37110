#include "plot/smooth.h"

#include <cmath>
#include <optional>

#include "runtime/message.h"

namespace lehi::plot {

std::vector<double> ema(const std::vector<double>& values, double weight_of_new) {
  if (!(weight_of_new > 0.0 && weight_of_new <= 1.0)) {
    throw_invalid_argument("ema: the weight of a new value is {}, expected a number above 0 and at most 1",
                           weight_of_new);
  }
  std::vector<double> smoothed = values;
  std::optional<double> average;
  for (auto& value : smoothed) {
    if (!std::isfinite(value)) continue;
    average = average ? weight_of_new * value + (1.0 - weight_of_new) * *average : value;
    value = *average;
  }
  return smoothed;
}

}  // namespace lehi::plot
