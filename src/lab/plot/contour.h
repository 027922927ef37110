// Contour lines of a function given on a grid.
#pragma once

#include <vector>

#include "plot/figure.h"

namespace lehi::plot {

struct Grid {
  std::vector<double> x;       ///< ascending
  std::vector<double> y;       ///< ascending
  std::vector<double> values;  ///< values[j * x.size() + i] at (x[i], y[j])
};

/// All lines where the function has this value, by marching squares with linear interpolation, joined into as few
/// polylines as they form; a NaN point separates them, and a closed one ends at its first point. Squares with a corner
/// that is not finite are left out.
Series contour(const Grid& grid, double level);

/// `count` numbers from `low` to `high`, equally far apart in the logarithm. Both positive.
std::vector<double> log_spaced(double low, double high, int count);

}  // namespace lehi::plot
