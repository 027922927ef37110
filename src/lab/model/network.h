// The interface of a model: parameters, forward pass for training with its backward pass, predictions for evaluation.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/optimizer.h"

namespace lehi::model {

using NamedParameters = torch::OrderedDict<std::string, torch::Tensor>;

class Network {
 public:
  Network() = default;
  /// Not copyable or movable: what forward() returns refers to this object.
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  Network(Network&&) = delete;
  Network& operator=(Network&&) = delete;
  virtual ~Network() = default;

  /// What is trained, in the order of construction; saved under these names.
  virtual const NamedParameters& named_parameters() const = 0;

  /// Not trained, but updated by training, such as the running means of batch normalisation; saved too.
  virtual const NamedParameters& named_buffers() const;

  /// The weight of the last linear map, [classes, width], where the loss applies it (lehi::LinearCrossEntropy) and the
  /// predictions are hidden values. Undefined otherwise.
  virtual torch::Tensor head() const { return {}; }

  /// For training. The result is valid until the next call. `key` determines the pass's random numbers; its first_row
  /// is the index of the batch's first row within the step. The batch may have no rows.
  virtual Differentiable forward(const torch::Tensor& inputs, const RandomKey& key) = 0;

  /// For data-parallel training: statistics of a batch (batch normalisation) are then computed over all ranks' rows.
  /// The ranks must outlive the network.
  virtual void share_statistics(Ranks* /*ranks*/) {}

  /// For evaluation: predictions in a new tensor.
  virtual torch::Tensor predict(const torch::Tensor& inputs) const = 0;
};

/// What forward() returns for a batch without rows, as a rank may have: no predictions, and a backward pass that
/// delivers nothing.
Differentiable forward_without_rows();

std::int64_t parameter_count(const Network& network);

/// The optimizer's options for this network: its last layer stays diagonal whatever its name is (lehi::ShapeRules).
Options options_for(const Network& network, Options options);

/// Parameters, then buffers: the contents of a file of weights.
NamedParameters saved_tensors(const Network& network);

/// A parameter's name and shape, without the parameter: a model can be described without memory for its weights.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> sizes;
};
std::int64_t parameter_count(const std::vector<ParameterShape>& shapes);

}  // namespace lehi::model
