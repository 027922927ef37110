#include "curvature/pull_back.h"

#include <torch/csrc/autograd/autograd.h>

#include "runtime/message.h"

namespace lehi {

std::vector<torch::Tensor> pull_back(const std::vector<torch::Tensor>& outputs,
                                     const std::vector<torch::Tensor>& cotangents,
                                     const std::vector<torch::Tensor>& parameters, bool keep_graph) {
  // Frozen parameters are not inputs of the graph: differentiate the others, leave a hole for each.
  std::vector<torch::Tensor> inputs;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].requires_grad()) continue;
    inputs.push_back(parameters[i]);
    places.push_back(i);
  }
  std::vector<torch::Tensor> live_outputs;
  std::vector<torch::Tensor> live_cotangents;
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    if (!outputs[t].requires_grad()) continue;
    live_outputs.push_back(outputs[t]);
    live_cotangents.push_back(cotangents[t]);
  }
  if (inputs.empty())
    throw_invalid_argument("none of the optimizer's parameters requires a gradient: there is nothing to train");
  if (live_outputs.empty()) {
    throw_invalid_argument(
        "the predictions carry no graph: call the model without NoGradGuard and do not detach() its output");
  }
  const auto gradients = torch::autograd::grad(live_outputs, inputs, live_cotangents, keep_graph,
                                               /*create_graph=*/false, /*allow_unused=*/true);
  std::vector<torch::Tensor> result(parameters.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (gradients[i].defined() && gradients[i].layout() != torch::kStrided) {
      throw_invalid_argument("a parameter of shape {} has a sparse gradient: use dense embeddings (sparse = false)",
                             fmt::join(inputs[i].sizes(), " x "));
    }
    result[places[i]] = gradients[i];
  }
  return result;
}

}  // namespace lehi
