// Reference versions of the timed models in plain torch operations, with copies of our weights.
#pragma once

#include <functional>

#include "bench/difference.h"
#include "model/gpt2.h"
#include "model/network.h"

namespace lehi::bench {

struct PlainModel {
  Tensors parameters;  ///< leaves, in the network's order
  std::function<torch::Tensor(const torch::Tensor& inputs)> logits;
};

PlainModel plain_gpt2(const model::NamedParameters& weights, const model::Gpt2Shape& shape);
PlainModel plain_resnet(const model::NamedParameters& weights);  ///< ResNet-18 in training mode
PlainModel plain_mlp(const model::NamedParameters& weights);     ///< one hidden layer

}  // namespace lehi::bench
