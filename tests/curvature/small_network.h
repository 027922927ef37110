// A 3-4-C network with fixed weights and data, small enough for dense matrices.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace lehi::testing {

struct SmallNetwork {
  std::vector<torch::Tensor> parameters;
  torch::Tensor inputs;

  explicit SmallNetwork(std::int64_t outputs, std::int64_t rows = 5) {
    torch::manual_seed(17);
    const auto random = [](at::IntArrayRef size, double scale) { return scale * torch::randn(size, torch::kFloat64); };
    parameters = {random({4, 3}, 0.7), random({4}, 0.3), random({outputs, 4}, 0.7), random({outputs}, 0.3)};
    for (auto& parameter : parameters) parameter.requires_grad_(true);
    inputs = random({rows, 3}, 1.0);
  }

  torch::Tensor predict() const {
    const auto hidden = torch::tanh(inputs.matmul(parameters[0].t()) + parameters[1]);
    return hidden.matmul(parameters[2].t()) + parameters[3];
  }
};

inline torch::Tensor flattened(const std::vector<torch::Tensor>& parts) {
  std::vector<torch::Tensor> rows;
  for (const auto& part : parts) rows.push_back(part.detach().reshape(-1));
  return torch::cat(rows);
}

/// J = dp/dw as a dense [predictions, weights] matrix, one backward a row.
inline torch::Tensor dense_jacobian(const torch::Tensor& predictions, const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> rows;
  const auto outputs = predictions.reshape(-1);
  for (std::int64_t i = 0; i < outputs.numel(); ++i) {
    rows.push_back(flattened(torch::autograd::grad({outputs[i]}, parameters, {}, /*retain_graph=*/true)));
  }
  return torch::stack(rows);
}

/// d2(value)/dp2 as a dense matrix over all predictions of the batch, by differentiating torch's own loss twice.
template <class Value>
torch::Tensor dense_hessian(const torch::Tensor& predictions, const Value& value) {
  const auto p = predictions.detach().requires_grad_(true);
  const auto u = torch::autograd::grad({value(p)}, {p}, {}, true, /*create_graph=*/true)[0].reshape(-1);
  std::vector<torch::Tensor> rows;
  for (std::int64_t i = 0; i < u.numel(); ++i) {
    rows.push_back(torch::autograd::grad({u[i]}, {p}, {}, /*retain_graph=*/true)[0].reshape(-1));
  }
  return torch::stack(rows);
}

}  // namespace lehi::testing
