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

/// The lines where the function has this value, by marching squares with linear interpolation. The segments are joined
/// into polylines, separated by NaN points; a closed line ends at its first point. Squares with a corner that is not
/// finite are skipped.
Series contour(const Grid& grid, double level);

}  // namespace lehi::plot
