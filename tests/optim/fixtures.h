// The three problems that every optimizer is followed on, with torch's own loss beside the library's, and what the
// tests of this room need to compare weights. The numbers come from tests/data/optimizer_references.json, written by
// scripts/reference/optimizers.py; all are exact in float32.
//
//   least_squares   one row of six residuals A w - b, mean squared error against 0
//   logistic        24 rows, binary cross-entropy, weights and a bias
//   network         MLP 5-8-3 with tanh, cross-entropy, four minibatches of 12 rows in turn
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lehi/lehi.h"
#include "support/support.h"

namespace lehi::testing {

using Weights = std::vector<torch::Tensor>;

/// 200 steps carry the rounding of each step's sums forward: 1e-12 and 1e-5 are some thousand and hundred units of it.
inline double tolerance(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-12 : 1e-5; }

struct Problem {
  std::string name;
  torch::Dtype dtype = torch::kFloat64;
  Weights start;
  std::shared_ptr<const Loss> loss;
  std::function<torch::Tensor(const Weights&, std::int64_t step)> predict;  ///< step = 1, 2, ...
  std::function<torch::Tensor(std::int64_t step)> targets;
  std::function<torch::Tensor(const torch::Tensor& p, const torch::Tensor& y)> value;  ///< mean loss, torch's own
  std::function<torch::Tensor(const torch::Tensor& p)> auxiliary;  ///< z, summed over rows and outputs

  /// What the mean divides by: rows.
  double count() const { return static_cast<double>(row_shape(predict(start, 1)).rows); }
  /// torch's mean loss at a step, with its graph.
  torch::Tensor value_at(const Weights& w, std::int64_t step) const { return value(predict(w, step), targets(step)); }
};

inline torch::Tensor tensor_of(const nlohmann::json& json, torch::Dtype dtype) {
  if (!json.is_array()) return torch::tensor(json.get<double>(), torch::kFloat64).to(dtype);
  std::vector<torch::Tensor> rows;
  for (const auto& entry : json) rows.push_back(tensor_of(entry, dtype));
  return torch::stack(rows);
}

inline const nlohmann::json& references() {
  static const nlohmann::json data = read_data("optimizer_references.json");
  return data;
}

inline Problem least_squares(torch::Dtype dtype) {
  const auto& data = references()["problems"]["least_squares"];
  const auto matrix = tensor_of(data["matrix"], dtype);
  const auto shift = tensor_of(data["targets"], dtype);
  Problem problem;
  problem.loss = std::make_shared<MeanSquaredError>();
  problem.predict = [=](const Weights& w, std::int64_t) { return (matrix.matmul(w[0]) - shift).unsqueeze(0); };
  problem.targets = [=](std::int64_t) { return torch::zeros({1, shift.size(0)}, dtype); };
  problem.value = [](const torch::Tensor& p, const torch::Tensor& y) {
    return torch::mse_loss(p, y, torch::Reduction::Sum) / (2.0 * static_cast<double>(p.size(0)));
  };
  problem.auxiliary = [](const torch::Tensor& p) { return p.sum(); };
  return problem;
}

inline Problem logistic(torch::Dtype dtype) {
  const auto& data = references()["problems"]["logistic"];
  const auto inputs = tensor_of(data["inputs"], dtype);
  const auto labels = tensor_of(data["targets"], dtype);
  Problem problem;
  problem.loss = std::make_shared<BinaryCrossEntropy>();
  problem.predict = [=](const Weights& w, std::int64_t) { return inputs.matmul(w[0]) + w[1]; };
  problem.targets = [=](std::int64_t) { return labels; };
  problem.value = [](const torch::Tensor& p, const torch::Tensor& y) {
    return torch::binary_cross_entropy_with_logits(p, y);
  };
  problem.auxiliary = [](const torch::Tensor& p) { return torch::asin(torch::tanh(p / 2)).sum(); };
  return problem;
}

inline Problem network(torch::Dtype dtype) {
  const auto& data = references()["problems"]["network"];
  std::vector<torch::Tensor> inputs;
  std::vector<torch::Tensor> labels;
  for (const auto& batch : data["batches"]) {
    inputs.push_back(tensor_of(batch["inputs"], dtype));
    labels.push_back(tensor_of(batch["targets"], torch::kInt64));
  }
  const auto turn = [count = inputs.size()](std::int64_t step) { return static_cast<std::size_t>(step - 1) % count; };
  Problem problem;
  problem.loss = std::make_shared<CrossEntropy>();
  problem.predict = [=](const Weights& w, std::int64_t step) {
    const auto hidden = torch::tanh(inputs[turn(step)].matmul(w[0].t()) + w[1]);
    return hidden.matmul(w[2].t()) + w[3];
  };
  problem.targets = [=](std::int64_t step) { return labels[turn(step)]; };
  problem.value = [](const torch::Tensor& p, const torch::Tensor& y) { return torch::cross_entropy_loss(p, y); };
  problem.auxiliary = [](const torch::Tensor& p) { return torch::asin(2 * torch::softmax(p, -1) - 1).sum(); };
  return problem;
}

inline Problem make_problem(const std::string& name, torch::Dtype dtype) {
  Problem problem = name == "least_squares" ? least_squares(dtype)
                    : name == "logistic"    ? logistic(dtype)
                                            : network(dtype);
  problem.name = name;
  problem.dtype = dtype;
  for (const auto& start : references()["problems"][name]["start"]) problem.start.push_back(tensor_of(start, dtype));
  return problem;
}

/// Runs `check` on every problem in float64 and float32.
inline void for_each_problem(const std::function<void(const Problem&)>& check) {
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    for (const std::string name : {"least_squares", "logistic", "network"}) {
      SCOPED_TRACE(name + (dtype == torch::kFloat64 ? ", float64" : ", float32"));
      check(make_problem(name, dtype));
    }
  }
}

/// Leaves of their own with the same values.
inline Weights fresh(const Weights& weights) {
  Weights copies;
  for (const auto& weight : weights) copies.push_back(weight.detach().clone().requires_grad_(true));
  return copies;
}

/// All weights in one float64 vector.
inline torch::Tensor flat(const Weights& weights) {
  Weights rows;
  for (const auto& weight : weights) rows.push_back(weight.detach().to(torch::kFloat64).reshape(-1));
  return torch::cat(rows);
}

inline void expect_close(const Weights& weights, const torch::Tensor& expected, double limit, std::int64_t step) {
  EXPECT_LE(relative_difference(flat(weights), expected), limit) << "after step " << step;
}

/// Groups that take the optimizer's own options.
inline std::vector<torch::optim::OptimizerParamGroup> groups_of(const std::vector<Weights>& members) {
  return {members.begin(), members.end()};
}

/// The library's one-call step on a problem.
inline double take_step(Optimizer& optimizer, const Problem& problem, const Weights& weights, std::int64_t step) {
  return optimizer.step(problem.predict(weights, step), *problem.loss, problem.targets(step));
}

/// lehi-kron with the Gauss-Newton probe in its factors and in v, every four steps.
inline Options kron_with_probe() {
  Options options = preset(Preset::lehi_kron);
  options.recipe.probe = Probe::gauss_newton;
  options.recipe.schedule = {.every = 4, .doubling = true};
  options.recipe.mix = Mix::max;
  options.recipe.kronecker.factors = FactorSource::both;
  return options;
}

/// Every preset, with numbers that give each part of its state something to do and move weights at a moderate pace.
/// Soap turns one side: the first factor of a longer side has a null space, in which rounding chooses the vectors.
inline std::vector<Options> lively_presets() {
  std::vector<Options> all;
  for (const auto kind : all_presets()) {
    Options options = preset(kind);
    options.group.lr = 0.01;
    options.group.momentum = 0.5;
    options.group.weight_decay = 0.1;
    options.seed = 7;
    if (kind == Preset::soap) options.recipe.kronecker.sides = Sides::smaller;
    all.push_back(options);
  }
  Options probing = kron_with_probe();
  probing.group = all.back().group;
  probing.seed = 7;
  all.push_back(probing);
  return all;
}

/// How far two runs may be apart whose gradients differ by rounding. The factors of a softmax's weights are singular:
/// the gradient along that vector is rounding, of which eps = 1e-8 leaves up to a unit of 1e-8.
inline double rounding_of(const Options& options) { return options.recipe.shape == Shape::kronecker ? 1e-8 : 1e-12; }

}  // namespace lehi::testing
