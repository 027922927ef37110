// The models whose steps are timed, with random data of the right shape, and the same models in plain torch.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/difference.h"
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
  int steps_a_turn = 1;  ///< so that a turn takes long enough to be timed

  double step(Optimizer& optimizer) const { return optimizer.step(network->forward(inputs, {}), *loss, targets); }
  /// A step on the first two rows: makes the optimizer's state and buffers, of which a large model has gigabytes.
  void warm_up(Optimizer& optimizer) const;
};

/// Language models: rows x tokens random tokens, lehi::LinearCrossEntropy.
Workload gpt2_workload(const model::Gpt2Shape& shape, std::int64_t rows, std::int64_t tokens, bool recompute = false);
/// ResNet-18 on so many images of 32 x 32.
Workload resnet_workload(std::int64_t rows);
/// MLP 784-50-10.
Workload mnist_workload(std::int64_t rows);

/// A preset at a rate that changes next to nothing, so that weights stay where they are however long one measures.
Options still(Preset which);

/// Seconds of one more backward, measured alone. The forward pass before it is not timed. One cotangent of the
/// predictions goes through the network, and what it delivers is dropped; where the loss owns the last linear map, that
/// map's two products, W^T v and v h^T, are taken in the loss's chunks on a matrix of random cotangents. Making v from
/// the predictions, and what the update does with s, are not part of it. The network frees its graph meanwhile, as it
/// does only once in a step with two cotangents.
double seconds_of_backward(const Workload& workload);

/// g and s by our network and by autograd through the plain model, with the same u and v: the largest relative
/// difference of a parameter. Small models of the real widths.
double workload_difference(const std::string& name);

/// Tolerance of the above: float32 sums of a few thousand terms in another order.
inline constexpr double workload_tolerance = 1e-4;

}  // namespace lehi::bench
