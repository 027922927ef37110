#include "model/chain.h"

#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

Chain::Chain(Parts parts, bool recompute) : parts_(std::move(parts)), recompute_(recompute) {
  if (parts_.segments.empty()) refuse("a chain needs at least one segment");
  for (auto& item : parts_.parameters) item.value().requires_grad_(true);
}

Differentiable Chain::forward(const Tensor& inputs, const RandomKey& key) {
  const torch::AutoGradMode with_graph(!recompute_);
  pass_ = {.training = true, .again = false, .key = key};
  kept_.clear();
  Tensor values = inputs.detach();
  for (const Segment& segment : parts_.segments) {
    Kept kept;
    kept.input = values;
    if (!kept_.empty()) kept.input.requires_grad_(true);
    Tensor output = segment.run(kept.input, pass_);
    values = output.detach();
    if (!recompute_) kept.output = std::move(output);
    kept_.push_back(std::move(kept));
  }
  return {values, [this](const Tensors& cotangents, const Differentiable::Deliver& deliver) {
            pull_back(cotangents, deliver);
          }};
}

Tensor Chain::predict(const Tensor& inputs) const {
  const torch::NoGradGuard no_grad;
  Tensor values = inputs;
  for (const Segment& segment : parts_.segments) values = segment.run(values, {});
  return values;
}

void Chain::pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver) {
  if (kept_.size() != parts_.segments.size()) refuse("a chain pulls back once after each forward()");
  if (cotangents.empty()) return;
  Tensors arriving = cotangents;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    const Segment& segment = parts_.segments[i];
    Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (!kept.output.defined()) {
      const torch::AutoGradMode with_graph(true);  // not further: `deliver` runs in the caller's mode
      Pass again = pass_;
      again.again = true;
      kept.output = segment.run(kept.input, again);
    }
    // What reads neither a parameter nor its input, and all that lies before it, takes no part.
    if (!kept.output.requires_grad()) return kept_.clear();
    Tensors inputs = segment.parameters;
    if (i > 0) inputs.push_back(kept.input);
    std::vector<Tensors> pulled(segment.parameters.size());
    for (std::size_t c = 0; c < arriving.size(); ++c) {
      auto gradients = torch::autograd::grad({kept.output}, inputs, {arriving[c]},
                                             /*retain_graph=*/c + 1 < arriving.size(), /*create_graph=*/false,
                                             /*allow_unused=*/true);
      if (i > 0) {
        arriving[c] = std::move(gradients.back());
        gradients.pop_back();
      }
      for (std::size_t p = 0; p < gradients.size(); ++p) pulled[p].push_back(std::move(gradients[p]));
    }
    kept = {};
    for (std::size_t p = 0; p < pulled.size(); ++p) {
      if (pulled[p].front().defined()) deliver(segment.parameters[p], pulled[p]);
      pulled[p].clear();
    }
    if (!arriving.front().defined()) return kept_.clear();
  }
}

const NamedTensors& Network::named_buffers() const {
  static const NamedTensors none;
  return none;
}

NamedTensors saved_tensors(const Network& network) {
  NamedTensors tensors = network.named_parameters();
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
