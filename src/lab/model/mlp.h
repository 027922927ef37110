// A multilayer perceptron that differentiates itself: linear layers with ReLU between them, without an autograd graph.
//
//   h_0 = x;  h_l = relu(h_{l-1} W_l^T + b_l);  predictions = h_{L-1} W_L^T + b_L
//
// The pull-back takes several cotangents at once. Their hidden gradients stand side by side in one matrix,
// [dH_u | dH_v], so that the product with a layer's inputs, which is most of the work, is one for all of them, and the
// gradients come out one below the other. Buffers are made once for the largest batch and used again.
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

/// What Mlp(sizes, ...) will consist of.
std::vector<ParameterShape> mlp_parameters(const std::vector<std::int64_t>& sizes);

class Mlp : public Network {
 public:
  /// sizes = {inputs, hidden..., outputs}. The weights depend on the seed alone: those of torch::nn::Linear layers made
  /// in order after torch::manual_seed(seed), to the bit; float64 ones are the same numbers. dtype: float32 or float64.
  Mlp(std::vector<std::int64_t> sizes, std::uint64_t seed, torch::Dtype dtype = torch::kFloat32);

  /// "layers.0.weight" [hidden, inputs], "layers.0.bias" [hidden], "layers.1.weight", ...
  const NamedParameters& named_parameters() const override { return parameters_; }

  /// Training: inputs [rows, inputs], kept until the next call. Predictions and what pull_back returns are this
  /// object's own buffers, valid until the next forward() or pull_back.
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

  torch::Tensor checked(const torch::Tensor& inputs) const;
  void make_room_for(std::size_t cotangents);
  void pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver);
  template <class T>
  void pull_back_through_layers(const Tensors& cotangents);

  std::vector<Layer> layers_;
  NamedParameters parameters_;
  torch::Tensor inputs_;            // of the last forward()
  std::vector<Tensors> gradients_;  // of each cotangent that there was room for: views of the layers' buffers
};

}  // namespace lehi::model
