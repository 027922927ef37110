// Time per step as a function of one size of a model, compared with the number of operations.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace lehi::bench {

struct GrowthPoint {
  double size = 0.0;
  double arithmetic = 0.0;  ///< floating-point operations per step
  double seconds = 0.0;
};

struct GrowthCurve {
  std::string name;  ///< "parameters"
  std::string axis;  ///< the x axis's label
  std::vector<GrowthPoint> points;
};

/// The largest (growth of the time) / (growth of the arithmetic) between neighbouring points; 1 for fewer than two
/// points.
double largest_excess(const GrowthCurve& curve);

/// One panel per curve with log axes: the measured times, and the arithmetic at the largest model's rate.
plot::Figure growth_figure(const std::vector<GrowthCurve>& curves);

}  // namespace lehi::bench
