#include "model/chain.h"

#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

namespace {

// A segment that autograd differentiates. `leading`: nothing lies before it, so its input has no cotangent.
Traced trace_graph(const Segment& segment, const Tensor& input, const Pass& pass, bool leading) {
  Tensor leaf = input.detach();
  if (!leading) leaf.requires_grad_(true);
  Tensor output;
  {
    const torch::AutoGradMode with_graph(true);  // not further: `deliver` runs in the caller's mode
    output = segment.run(leaf, pass);
  }
  Traced traced;
  traced.output = output.detach();
  traced.pull_back = [leaf, output, leading, &parameters = segment.parameters](
                         const Tensors& cotangents, const Differentiable::Deliver& deliver) mutable {
    Tensors arriving(cotangents.size());
    // What reads neither a parameter nor its input, and all that lies before it, takes no part.
    if (!output.requires_grad()) return arriving;
    Tensors inputs = parameters;
    if (!leading) inputs.push_back(leaf);
    std::vector<Tensors> pulled(parameters.size());
    for (std::size_t c = 0; c < cotangents.size(); ++c) {
      auto gradients = torch::autograd::grad({output}, inputs, {cotangents[c]},
                                             /*retain_graph=*/c + 1 < cotangents.size(), /*create_graph=*/false,
                                             /*allow_unused=*/true);
      if (!leading) {
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
  return traced;
}

Traced trace(const Segment& segment, const Tensor& input, const Pass& pass, bool leading) {
  if (!segment.trace) return trace_graph(segment, input, pass, leading);
  const torch::NoGradGuard no_grad;
  return segment.trace(input, pass);
}

Tensor output_of(const Segment& segment, const Tensor& input, const Pass& pass) {
  const torch::NoGradGuard no_grad;
  return segment.trace ? segment.trace(input, pass).output : segment.run(input, pass);
}

}  // namespace

Chain::Chain(Parts parts, bool recompute) : parts_(std::move(parts)), recompute_(recompute) {
  if (parts_.segments.empty()) throw_invalid_argument("a chain needs at least one segment");
  for (auto& item : parts_.parameters) item.value().requires_grad_(true);
}

Differentiable Chain::forward(const Tensor& inputs, const RandomKey& key) {
  pass_ = {.training = true, .again = false, .key = key, .ranks = ranks_};
  kept_.clear();
  if (inputs.defined() && inputs.dim() > 0 && inputs.size(0) == 0 && !parts_.ranks_meet) return forward_of_no_rows();
  Tensor values = inputs.detach();
  for (const Segment& segment : parts_.segments) {
    Kept kept;
    if (recompute_) {
      kept.input = values;
      values = output_of(segment, values, pass_);
    } else {
      kept.traced = trace(segment, values, pass_, /*leading=*/kept_.empty());
      values = std::move(kept.traced.output);
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
  if (kept_.size() != parts_.segments.size()) throw_invalid_argument("a chain pulls back once after each forward()");
  if (cotangents.empty()) return;
  Pass again = pass_;
  again.again = true;
  Tensors arriving = cotangents;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (recompute_) kept.traced = trace(parts_.segments[i], kept.input, again, /*leading=*/i == 0);
    kept.input.reset();
    kept.traced.output.reset();
    arriving = kept.traced.pull_back(arriving, deliver);
    if (!arriving.front().defined()) return kept_.clear();
  }
}

Differentiable forward_of_no_rows() {
  return {torch::empty({0}), [](const Tensors&, const Differentiable::Deliver&) {}};
}

const NamedParameters& Network::named_buffers() const {
  static const NamedParameters none;
  return none;
}

NamedParameters saved_tensors(const Network& network) {
  NamedParameters tensors = network.named_parameters();
  tensors.update(network.named_buffers());
  return tensors;
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& item : network.named_parameters()) count += item.value().numel();
  return count;
}

std::int64_t parameter_count(const std::vector<ParameterShape>& shapes) {
  std::int64_t count = 0;
  for (const ParameterShape& shape : shapes) count += c10::multiply_integers(shape.sizes);
  return count;
}

}  // namespace lehi::model
