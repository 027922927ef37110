#include "model/chain.h"

#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

namespace {

// Runs a segment that autograd differentiates. The first segment's input needs no cotangent.
SegmentPass forward_with_autograd(const Segment& segment, const Tensor& input, const Pass& pass, bool first) {
  Tensor leaf = input.detach();
  if (!first) leaf.requires_grad_(true);
  Tensor output;
  {
    const torch::AutoGradMode with_graph(true);  // in this scope only: `deliver` runs in the caller's mode
    output = segment.run(leaf, pass);
  }
  SegmentPass result;
  result.output = output.detach();
  result.pull_back = [leaf, output, first, &parameters = segment.parameters](
                         const Tensors& cotangents, const Differentiable::Deliver& deliver) mutable {
    Tensors arriving(cotangents.size());
    // An output that depends on no parameter and not on the input ends the backward pass.
    if (!output.requires_grad()) return arriving;
    Tensors inputs = parameters;
    if (!first) inputs.push_back(leaf);
    std::vector<Tensors> pulled(parameters.size());
    for (std::size_t c = 0; c < cotangents.size(); ++c) {
      auto gradients = torch::autograd::grad({output}, inputs, {cotangents[c]},
                                             /*retain_graph=*/c + 1 < cotangents.size(), /*create_graph=*/false,
                                             /*allow_unused=*/true);
      if (!first) {
        arriving[c] = std::move(gradients.back());
        gradients.pop_back();
      }
      for (std::size_t p = 0; p < gradients.size(); ++p) pulled[p].push_back(std::move(gradients[p]));
    }
    leaf.reset();
    output.reset();
    for (std::size_t p = 0; p < pulled.size(); ++p) {
      if (pulled[p].front().defined()) deliver(parameters[p], pulled[p]);
      pulled[p].clear();
    }
    return arriving;
  };
  return result;
}

SegmentPass forward_segment(const Segment& segment, const Tensor& input, const Pass& pass, bool first) {
  if (!segment.forward) return forward_with_autograd(segment, input, pass, first);
  const torch::NoGradGuard no_grad;
  return segment.forward(input, pass);
}

Tensor output_of(const Segment& segment, const Tensor& input, const Pass& pass) {
  const torch::NoGradGuard no_grad;
  return segment.forward ? segment.forward(input, pass).output : segment.run(input, pass);
}

}  // namespace

Chain::Chain(Parts parts, bool recompute) : parts_(std::move(parts)), recompute_(recompute) {
  if (parts_.segments.empty()) throw_invalid_argument("a chain needs at least one segment");
  for (auto& item : parts_.parameters) item.value().requires_grad_(true);
}

Differentiable Chain::forward(const Tensor& inputs, const RandomKey& key) {
  pass_ = {.training = true, .recomputing = false, .key = key, .ranks = ranks_};
  kept_.clear();
  if (inputs.defined() && inputs.dim() > 0 && inputs.size(0) == 0 && !parts_.needs_all_ranks)
    return forward_without_rows();
  Tensor values = inputs.detach();
  for (const Segment& segment : parts_.segments) {
    Kept kept;
    if (recompute_) {
      kept.input = values;
      values = output_of(segment, values, pass_);
    } else {
      kept.pass = forward_segment(segment, values, pass_, /*first=*/kept_.empty());
      values = std::move(kept.pass.output);
    }
    kept_.push_back(std::move(kept));
  }
  return {values, [this](const Tensors& cotangents, const Differentiable::Deliver& deliver) {
            pull_back(cotangents, deliver);
          }};
}

Tensor Chain::predict(const Tensor& inputs) const {
  Tensor values = inputs;
  for (const Segment& segment : parts_.segments) values = output_of(segment, values, {});
  return values;
}

void Chain::pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver) {
  if (kept_.size() != parts_.segments.size())
    throw_invalid_argument("the backward pass of a chain runs once after each forward()");
  if (cotangents.empty()) return;
  Pass again = pass_;
  again.recomputing = true;
  Tensors arriving = cotangents;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (recompute_) kept.pass = forward_segment(parts_.segments[i], kept.input, again, /*first=*/i == 0);
    kept.input.reset();
    kept.pass.output.reset();
    arriving = kept.pass.pull_back(arriving, deliver);
    if (!arriving.front().defined()) return kept_.clear();
  }
}

}  // namespace lehi::model
