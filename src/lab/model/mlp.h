// A multilayer perceptron, linear layers with ReLU between them. Its backward pass is written by hand, without
// autograd.
//
//   h_0 = x;  h_l = relu(h_{l-1} W_l^T + b_l);  predictions = h_{L-1} W_L^T + b_L
//
// The backward pass takes several cotangents at once. Their hidden gradients are side by side in one matrix,
// [dH_u | dH_v], so that one product with a layer's inputs, which is most of the work, serves all of them; the weight
// gradients are stacked by rows. Buffers are allocated for the largest batch and reused.
//
//   lehi::model::Mlp model({784, 50, 10}, seed);
//   lehi::Lehi optimizer(model.named_parameters(), lehi::LehiOptions(3e-3));
//   double value = optimizer.step(model.forward(inputs), loss, targets);
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "model/network.h"

namespace lehi::model {

/// The parameters of Mlp(sizes, ...).
std::vector<ParameterShape> mlp_parameters(const std::vector<std::int64_t>& sizes);

class Mlp : public Network {
 public:
  /// sizes = {inputs, hidden..., outputs}. The initial weights have the bits of torch::nn::Linear layers that are
  /// constructed in order after torch::manual_seed(seed); the global generator is not used. dtype: float32 or float64,
  /// with the same numbers.
  Mlp(const std::vector<std::int64_t>& sizes, std::uint64_t seed, torch::Dtype dtype = torch::kFloat32);

  /// "layers.0.weight" [hidden, inputs], "layers.0.bias" [hidden], "layers.1.weight", ...
  const NamedParameters& named_parameters() const override { return parameters_; }

  /// Inputs are [rows, inputs], kept until the next call. Predictions and the gradients that the backward pass delivers
  /// are this object's buffers, valid until the next forward() or backward pass.
  Differentiable forward(const torch::Tensor& inputs, const RandomKey& key = {}) override;

  torch::Tensor predict(const torch::Tensor& inputs) const override;

 private:
  struct Layer {
    torch::Tensor weight;
    torch::Tensor bias;
    torch::Tensor outputs;           // [rows, out], after the ReLU if there is one
    torch::Tensor deltas;            // [rows, cotangents * out]
    torch::Tensor weight_gradients;  // [cotangents * out, in]
    torch::Tensor bias_gradients;    // [cotangents * out]
  };
  using Tensors = std::vector<torch::Tensor>;

  torch::Tensor checked_inputs(const torch::Tensor& inputs) const;
  void reserve_gradients(std::size_t cotangents);
  void pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver);
  template <class T>
  void pull_back_through_layers(const Tensors& cotangents);

  std::vector<Layer> layers_;
  NamedParameters parameters_;
  torch::Tensor inputs_;            // of the last forward()
  std::vector<Tensors> gradients_;  // for each cotangent, views of the layers' buffers
};

}  // namespace lehi::model
