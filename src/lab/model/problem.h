// Small problems with a known start, optimum and minimum, on which any optimizer can be run and judged.
//
// A problem has one row of predictions (N = 1) of a weight vector. The least-squares problems are f = 1/2 |r(w)|^2
// (mse, target 0). rosenbrock, beale, powell, wood and helical are those of More, Garbow and Hillstrom (1981), whose f
// is twice ours.
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

const std::vector<Problem>& problems();

/// Throws std::invalid_argument with the known names.
const Problem& find_problem(std::string_view name);

/// f(w), for float64 weights.
double value(const Problem& problem, const torch::Tensor& weights);

}  // namespace lehi
