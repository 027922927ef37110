// Smooths curves.
#pragma once

#include <vector>

namespace lehi::plot {

/// Exponential moving average: y[0] = x[0], y[t] = w x[t] + (1 - w) y[t-1], w = `weight_of_new` in (0, 1]. A value that
/// is not finite is kept and does not affect later ones.
std::vector<double> ema(const std::vector<double>& values, double weight_of_new);

}  // namespace lehi::plot
