// The models whose steps are timed, with random data of the right shape.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>

#include "lehi/loss.h"
#include "lehi/presets.h"
#include "model/gpt2.h"
#include "model/network.h"

namespace lehi::bench {

struct Workload {
  std::string name;  ///< "gpt2", "resnet", "mnist"
  std::shared_ptr<model::Network> network;
  torch::Tensor inputs;
  torch::Tensor targets;
  std::shared_ptr<const Loss> loss;
  int steps_per_turn = 1;  ///< more for short steps, so that a turn is long enough to be timed

  double step(Optimizer& optimizer) const { return optimizer.step(network->forward(inputs, {}), *loss, targets); }
  /// A step on the first two rows. It allocates the optimizer's state and buffers.
  void warm_up(Optimizer& optimizer) const;
};

/// A GPT-2 on rows x tokens random tokens, with lehi::LinearCrossEntropy.
Workload gpt2_workload(const model::Gpt2Shape& shape, std::int64_t rows, std::int64_t tokens, bool recompute = false);
/// ResNet-18 on `rows` images of 32 x 32.
Workload resnet_workload(std::int64_t rows);
/// The MLP 784-50-10 on `rows` images.
Workload mnist_workload(std::int64_t rows);

/// A preset with so small a learning rate that the weights hardly change during the measurements.
Options frozen_options(Preset which);

/// Seconds of one more backward pass. One cotangent of the predictions is pulled back through the network and the
/// result is dropped. If the loss owns the last linear map, the map's two products, W^T v and v h^T, are included, in
/// the loss's chunks and on random cotangents. Not included: the forward pass, computing v from the predictions, and
/// the update with s. The network frees its graph during this pass, which a step with two cotangents does only once.
double seconds_of_backward(const Workload& workload);

}  // namespace lehi::bench
