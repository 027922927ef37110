// A network made of segments, one after the other: ordinary functions of torch tensors that autograd differentiates, or
// functions that come with their own pull-back. Segments have graphs of their own, so the pull-back goes segment by
// segment: all cotangents pass one before the next is touched, a segment's parameters are delivered as soon as they are
// complete, and its graph is freed then. With recomputation the forward pass keeps only what goes in between the
// segments, and a segment is run again when the pull-back reaches it.
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
  bool again = false;      ///< recomputation: whatever the first run changed (running means) must not be changed twice
  RandomKey key = {};      ///< of dropout
  Ranks* ranks = nullptr;  ///< that train together; nullptr: this process alone
};

/// A segment's output and the way back: takes one cotangent of the output after the other, delivers the parameters'
/// and returns the input's. The cotangents that it is given are not its own to change. Called once at most.
struct Traced {
  using Tensors = std::vector<torch::Tensor>;
  torch::Tensor output;
  std::function<Tensors(const Tensors& cotangents, const Differentiable::Deliver& deliver)> pull_back;
};

/// Either `run`, which autograd differentiates, with the parameters that it reads; or `trace`, which differentiates
/// itself and is called without graphs. No parameter may be read by two segments.
struct Segment {
  std::function<torch::Tensor(const torch::Tensor& input, const Pass& pass)> run = nullptr;
  std::vector<torch::Tensor> parameters = {};
  std::function<Traced(const torch::Tensor& input, const Pass& pass)> trace = nullptr;
};

class Chain : public Network {
 public:
  struct Parts {
    NamedParameters parameters;  ///< leaves; the chain makes them require gradients
    NamedParameters buffers = NamedParameters();
    std::vector<Segment> segments;
    bool ranks_meet = false;  ///< segments have the ranks compute something together, also those without rows
    torch::Tensor head = {};  ///< see Network::head(); may be a parameter that a segment reads, too (tied weights)
  };
  explicit Chain(Parts parts, bool recompute = false);

  const NamedParameters& named_parameters() const override { return parts_.parameters; }
  const NamedParameters& named_buffers() const override { return parts_.buffers; }
  torch::Tensor head() const override { return parts_.head; }
  void share_statistics(Ranks* ranks) override { ranks_ = ranks; }
  Differentiable forward(const torch::Tensor& inputs, const RandomKey& key = {}) override;
  torch::Tensor predict(const torch::Tensor& inputs) const override;

 private:
  // One segment of the last forward(): the input where it is to be computed again, else the way back.
  struct Kept {
    torch::Tensor input;
    Traced traced;
  };

  void pull_back(const std::vector<torch::Tensor>& cotangents, const Differentiable::Deliver& deliver);

  Parts parts_;
  bool recompute_;
  Ranks* ranks_ = nullptr;
  Pass pass_;
  std::vector<Kept> kept_;
};

}  // namespace lehi::model
