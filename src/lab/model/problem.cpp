#include "model/problem.h"

#include <torch/types.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "lehi/losses.h"
#include "runtime/names.h"

namespace lehi {
namespace {

using Weights = std::vector<torch::Tensor>;  // the entries of w, each a scalar tensor

torch::Tensor row(const std::vector<double>& numbers) { return torch::tensor(numbers, torch::kFloat64).unsqueeze(0); }

// f = 1/2 |r(w)|^2, with r given entry by entry.
Problem least_squares(std::string name, std::string summary, std::vector<double> start, std::vector<double> optimum,
                      const std::function<Weights(const Weights&)>& residuals) {
  const auto predictions = [residuals](const torch::Tensor& w) {
    return torch::stack(residuals(torch::unbind(w))).unsqueeze(0);
  };
  const auto outputs = predictions(row(start)[0]).size(1);
  return {.name = std::move(name),
          .summary = std::move(summary),
          .start = std::move(start),
          .optimum = std::move(optimum),
          .predictions = predictions,
          .loss = std::make_shared<MeanSquaredError>(),
          .targets = torch::zeros({1, outputs}, torch::kFloat64)};
}

Problem rosenbrock() {
  return least_squares("rosenbrock", "a curved valley in 2 weights", {-1.2, 1}, {1, 1}, [](const Weights& w) {
    return Weights{10 * (w[1] - w[0] * w[0]), 1 - w[0]};
  });
}

Problem beale() {
  return least_squares("beale", "flat plateaus in 2 weights", {1, 1}, {3, 0.5}, [](const Weights& w) {
    return Weights{1.5 - w[0] * (1 - w[1]), 2.25 - w[0] * (1 - w[1].pow(2)), 2.625 - w[0] * (1 - w[1].pow(3))};
  });
}

Problem powell() {
  return least_squares("powell", "Powell's singular function in 4 weights: the curvature vanishes at the optimum",
                       {3, -1, 0, 1}, {0, 0, 0, 0}, [](const Weights& w) {
                         return Weights{w[0] + 10 * w[1], std::sqrt(5.0) * (w[2] - w[3]), (w[1] - 2 * w[2]).pow(2),
                                        std::sqrt(10.0) * (w[0] - w[3]).pow(2)};
                       });
}

Problem wood() {
  return least_squares("wood", "two coupled valleys in 4 weights", {-3, -1, -3, -1}, {1, 1, 1, 1},
                       [](const Weights& w) {
                         return Weights{10 * (w[1] - w[0] * w[0]),
                                        1 - w[0],
                                        std::sqrt(90.0) * (w[3] - w[2] * w[2]),
                                        1 - w[2],
                                        std::sqrt(10.0) * (w[1] + w[3] - 2),
                                        (w[1] - w[3]) / std::sqrt(10.0)};
                       });
}

Problem helical() {
  return least_squares("helical", "a helical valley in 3 weights", {-1, 0, 0}, {1, 0, 0}, [](const Weights& w) {
    // The published angle runs from -1/4 to 3/4 of a turn: its branch cut is the negative w2 axis. So is that of atan2
    // of the point rotated by a quarter turn, while that of atan2(w2, w1) is the negative w1 axis.
    const auto turns = 0.25 + torch::atan2(-w[0], w[1]) / (2 * std::numbers::pi);
    return Weights{10 * (w[2] - 10 * turns), 10 * (torch::sqrt(w[0] * w[0] + w[1] * w[1]) - 1), w[2]};
  });
}

Problem bowl() {
  return least_squares("bowl", "a quadratic in 3 weights with curvatures 1, 100 and 10,000", {1, 1, 1}, {0, 0, 0},
                       [](const Weights& w) {
                         return Weights{w[0], 10 * w[1], 100 * w[2]};
                       });
}

// Predictions w1 + w2 x, intercept and slope, one output a point.
std::function<torch::Tensor(const torch::Tensor&)> line(const std::vector<double>& x) {
  return [points = row(x)](const torch::Tensor& w) { return w[0] + w[1] * points; };
}

Problem linear_regression() {
  const std::vector<double> x = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
  const std::vector<double> y = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
  return {.name = "linear-regression",
          .summary = "intercept and slope of Anscombe's first data set, 11 points",
          .start = {0, 0},
          .optimum = {33.001 / 11, 5.501 / 11},  // exact solution of the normal equations
          .minimum = 6.881345,
          .predictions = line(x),
          .loss = std::make_shared<MeanSquaredError>(),
          .targets = row(y)};
}

Problem logistic_regression() {
  const std::vector<double> hours = {0.5,  0.75, 1,    1.25, 1.5, 1.75, 1.75, 2,    2.25, 2.5,
                                     2.75, 3,    3.25, 3.5,  4,   4.25, 4.5,  4.75, 5,    5.5};
  const std::vector<double> passed = {0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1};
  return {.name = "logistic-regression",
          .summary = "hours of study against a passed exam, 20 students, not separable",
          .start = {0, 0},
          // Newton's method in 40-digit arithmetic.
          .optimum = {-4.077713431087630670, 1.504645428373333456},
          .minimum = 8.029878464344674293,
          .predictions = line(hours),
          .loss = std::make_shared<BinaryCrossEntropy>(),
          .targets = row(passed)};
}

}  // namespace

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all = {
      rosenbrock(), beale(), powell(), wood(), helical(), bowl(), linear_regression(), logistic_regression()};
  return all;
}

const Problem& find_problem(std::string_view name) {
  NameTable<const Problem*> table;
  for (const auto& problem : problems()) table.emplace_back(&problem, problem.name);
  return *value_in(table, name, "problem");
}

double value(const Problem& problem, const torch::Tensor& weights) {
  return problem.loss->evaluate(problem.predictions(weights), problem.targets).mean();
}

}  // namespace lehi
