// What training asks of a model, whichever it is.
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
  /// What forward() returns refers to this object.
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Trained, in the order of their making; saved under these names.
  virtual const NamedParameters& named_parameters() const = 0;

  /// Not trained but changed by training, such as the running means of batch normalisation; saved too.
  virtual const NamedParameters& named_buffers() const;

  /// Where the predictions are hidden values and the loss owns the last linear map (lehi::LinearCrossEntropy): that
  /// map's weight, [classes, width]. Undefined where the predictions are the last thing before the loss.
  virtual torch::Tensor head() const { return {}; }

  /// Training. Valid until the next call; `key` names the pass's random numbers: first_row is the index of the batch's
  /// first row within the step. There may be no rows.
  virtual Differentiable forward(const torch::Tensor& inputs, const RandomKey& key) = 0;

  /// Several ranks train together: what is computed over a batch's rows (batch normalisation) then is over all ranks'.
  /// The ranks must outlive the network's use.
  virtual void share_statistics(Ranks* /*ranks*/) {}

  /// Evaluation: the predictions in a tensor of the caller's.
  virtual torch::Tensor predict(const torch::Tensor& inputs) const = 0;
};

/// What forward() returns for no rows, which one rank of many may have: no predictions, and nothing to pull back.
Differentiable forward_of_no_rows();

std::int64_t parameter_count(const Network& network);

/// Parameters, then buffers: all that a file of the model's weights holds.
NamedParameters saved_tensors(const Network& network);

/// What a model will consist of, told without making it: a model of a billion weights can be counted anywhere.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> sizes;
};
std::int64_t parameter_count(const std::vector<ParameterShape>& shapes);

}  // namespace lehi::model
