// A network made of segments, one after the other, each an ordinary function of torch tensors that autograd
// differentiates. Segments have graphs of their own, so the pull-back goes segment by segment: all cotangents pass one
// before the next is touched, a segment's parameters are delivered as soon as they are complete, and its graph is freed
// then. With recomputation the forward pass keeps only what goes in between the segments, and a segment's graph is
// built again when the pull-back reaches it.
//
//   Chain chain({.parameters = ..., .segments = {{[=](const Tensor& x, const Pass&) { return x.matmul(w); }, {w}}}});
#pragma once

#include <functional>
#include <vector>

#include "model/network.h"

namespace lehi::model {

/// What a segment may want to know beside its input.
struct Pass {
  bool training = false;
  bool again = false;  ///< recomputation: whatever the first run changed (running means) must not be changed twice
  RandomKey key = {};  ///< of dropout
};

struct Segment {
  std::function<torch::Tensor(const torch::Tensor& input, const Pass& pass)> run;
  std::vector<torch::Tensor> parameters;  ///< that it reads; no parameter may be read by two segments
};

class Chain : public Network {
 public:
  struct Parts {
    NamedTensors parameters;  ///< leaves; the chain makes them require gradients
    NamedTensors buffers = NamedTensors();
    std::vector<Segment> segments;
    torch::Tensor head = {};  ///< see Network::head(); may be a parameter that a segment reads, too (tied weights)
  };
  explicit Chain(Parts parts, bool recompute = false);

  const NamedTensors& named_parameters() const override { return parts_.parameters; }
  const NamedTensors& named_buffers() const override { return parts_.buffers; }
  torch::Tensor head() const override { return parts_.head; }
  Differentiable forward(const torch::Tensor& inputs, const RandomKey& key = {}) override;
  torch::Tensor predict(const torch::Tensor& inputs) const override;

 private:
  // One segment of the last forward().
  struct Kept {
    torch::Tensor input;
    torch::Tensor output;  // with its graph; undefined when it is to be computed again
  };

  void pull_back(const std::vector<torch::Tensor>& cotangents, const Differentiable::Deliver& deliver);

  Parts parts_;
  bool recompute_;
  Pass pass_;
  std::vector<Kept> kept_;
};

}  // namespace lehi::model
