// A network made of segments, one after the other. A segment is an ordinary function of torch tensors, which autograd
// differentiates, or a function with a backward pass of its own. Each segment has its own graph, so the backward pass
// goes segment by segment: all cotangents pass one before the next, and a segment's gradients are delivered, and its
// graph freed, as soon as they are complete. With recomputation the forward pass keeps only the segments' inputs, and
// the backward pass runs each segment again.
//
//   Chain chain({.parameters = ..., .segments = {{[=](const Tensor& x, const Pass&) { return x.matmul(w); }, {w}}}});
#pragma once

#include <functional>
#include <vector>

#include "model/network.h"

namespace lehi::model {

/// A segment's arguments besides its input.
struct Pass {
  bool training = false;
  bool recomputing = false;  ///< a second run of the same input: running means must not be updated again
  RandomKey key = {};        ///< of dropout
  Ranks* ranks = nullptr;    ///< of a data-parallel run; nullptr: one process
};

/// A segment's output and its backward pass, `pull_back`, which takes cotangents of the output, delivers the
/// parameters' gradients and returns the cotangents of the input. It must not modify the cotangents, and is called once
/// at most.
struct SegmentPass {
  using Tensors = std::vector<torch::Tensor>;
  torch::Tensor output;
  std::function<Tensors(const Tensors& cotangents, const Differentiable::Deliver& deliver)> pull_back;
};

/// Either `run`, which autograd differentiates, with the parameters that it reads; or `forward`, which returns a
/// backward pass of its own and runs without autograd. Two segments must not read the same parameter.
struct Segment {
  std::function<torch::Tensor(const torch::Tensor& input, const Pass& pass)> run = nullptr;
  std::vector<torch::Tensor> parameters = {};
  std::function<SegmentPass(const torch::Tensor& input, const Pass& pass)> forward = nullptr;
};

class Chain : public Network {
 public:
  struct Parts {
    NamedParameters parameters;  ///< leaves; the constructor calls requires_grad_(true)
    NamedParameters buffers = NamedParameters();
    std::vector<Segment> segments;
    bool needs_all_ranks = false;  ///< a segment calls collectives, so ranks without rows must run it too
    torch::Tensor head = {};       ///< see Network::head(); with tied weights a segment reads it too
  };
  explicit Chain(Parts parts, bool recompute = false);

  const NamedParameters& named_parameters() const override { return parts_.parameters; }
  const NamedParameters& named_buffers() const override { return parts_.buffers; }
  torch::Tensor head() const override { return parts_.head; }
  void share_statistics(Ranks* ranks) override { ranks_ = ranks; }
  Differentiable forward(const torch::Tensor& inputs, const RandomKey& key = {}) override;
  torch::Tensor predict(const torch::Tensor& inputs) const override;

 private:
  // What forward() keeps of a segment: its input with recomputation, otherwise its backward pass.
  struct Kept {
    torch::Tensor input;
    SegmentPass pass;
  };

  void pull_back(const std::vector<torch::Tensor>& cotangents, const Differentiable::Deliver& deliver);

  Parts parts_;
  bool recompute_;
  Ranks* ranks_ = nullptr;
  Pass pass_;
  std::vector<Kept> kept_;
};

}  // namespace lehi::model
