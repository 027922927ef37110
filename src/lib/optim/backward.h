// The backward pass: from the losses' u and v to g = J^T u and s = J^T v of every parameter.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lehi/optimizer.h"
#include "optim/parameters.h"

namespace lehi {

/// Takes g and, where v was pulled back, s of one parameter (else s is undefined). They may be the network's own
/// buffers, valid until its next call. Parameters that take no part are left out.
using GradientSink = std::function<void(std::size_t index, const torch::Tensor& g, const torch::Tensor& s)>;

/// Delivers g and s to a sink, each parameter once.
using GradientSource = std::function<void(const GradientSink& sink)>;

/// The backward pass of some terms together: through their graphs, or by the one term's own pull_back. `evaluations`
/// are theirs, with v where `second` is true. What a loss has for its own parameters is added.
void backward(std::span<const Term> terms, std::span<const Evaluation> evaluations, bool second,
              const ParameterTable& parameters, bool keep_graph, const GradientSink& sink);

/// The same from .grad(). Throws std::invalid_argument for sparse ones.
void deliver_grad(const ParameterTable& parameters, const GradientSink& sink);

}  // namespace lehi
