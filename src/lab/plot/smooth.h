// Smoothing of curves.
#pragma once

#include <vector>

namespace lehi::plot {

/// Exponential moving average: y[0] = x[0], y[t] = w x[t] + (1 - w) y[t-1]. A value that is not finite stays as it is
/// and leaves no trace in the later ones. `weight_of_new` in (0, 1].
std::vector<double> ema(const std::vector<double>& values, double weight_of_new);

}  // namespace lehi::plot
