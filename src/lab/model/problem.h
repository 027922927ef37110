// Small problems that own their start, optimum and minimum, so that any optimizer can be run on any of them and judged.
//
// A problem is one row of predictions (N = 1) of a weight vector. The least-squares ones are f = 1/2 |r(w)|^2 (mse,
// target 0); rosenbrock, beale, powell, wood and helical are as in More, Garbow and Hillstrom (1981), whose f is twice
// ours.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lehi/loss.h"

namespace lehi {

struct Problem {
  std::string name;
  std::string summary;
  std::vector<double> start;
  std::vector<double> optimum;
  double minimum = 0.0;
  std::function<torch::Tensor(const torch::Tensor& weights)> predictions;  ///< [n] -> [1, outputs], differentiable
  std::shared_ptr<const Loss> loss;
  torch::Tensor targets;  ///< [1, outputs], float64
};

/// All of them.
const std::vector<Problem>& problems();

/// By name; throws std::invalid_argument listing the known names.
const Problem& find_problem(std::string_view name);

/// f(w), for float64 weights.
double value(const Problem& problem, const torch::Tensor& weights);

}  // namespace lehi
