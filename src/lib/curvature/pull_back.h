// The pull-back of a cotangent through a network's graph: J^T u for a list of parameters.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi {

/// sum_t J_t^T cotangents[t], one tensor per parameter, undefined where a parameter took no part in any output.
/// Never builds a graph of its own. The results may alias a cotangent: read them, never write them.
/// Throws std::invalid_argument when no output depends on any parameter that requires a gradient.
std::vector<torch::Tensor> pull_back(const std::vector<torch::Tensor>& outputs,
                                     const std::vector<torch::Tensor>& cotangents,
                                     const std::vector<torch::Tensor>& parameters, bool keep_graph);

}  // namespace lehi
