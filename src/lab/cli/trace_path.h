// The path of an optimizer on a small problem, for `lehi trace`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/options.h"
#include "model/problem.h"

namespace lehi::cli {

struct TracePoint {
  std::int64_t step = 0;
  std::vector<double> w;
  double value = 0.0;
};

struct TracePath {
  std::string variant;  ///< the optimizer as the user wrote it: "lehi", "lehi[lr=0.1]"
  Options options;
  std::vector<TracePoint> points;  ///< the start point first
  bool diverged = false;
};

/// Runs the optimizer in float64 for `steps` steps, or until a value is not finite.
TracePath follow(const Problem& problem, const std::string& variant, const Options& options,
                 const std::vector<double>& start, std::int64_t steps);

/// The 2-norm of a - b.
double distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lehi::cli
