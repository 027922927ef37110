#include "model/network.h"

namespace lehi::model {

Differentiable forward_without_rows() {
  return {torch::empty({0}), [](const std::vector<torch::Tensor>&, const Differentiable::Deliver&) {}};
}

const NamedParameters& Network::named_buffers() const {
  static const NamedParameters none;
  return none;
}

Options options_for(const Network& network, Options options) {
  const torch::Tensor head = network.head();
  std::string last;
  for (const auto& item : network.named_parameters()) {
    const bool is_last = head.defined() ? item.value().is_same(head) : item.value().dim() >= 2;
    if (is_last) last = item.key();
  }
  options.shapes.diagonal_names.push_back(last);
  return options;
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
