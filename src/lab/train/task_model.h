// The network that a configuration asks for.
#pragma once

#include <memory>

#include "model/network.h"
#include "train/config.h"

namespace lehi::train {

/// What the data decides of a model.
struct TaskSize {
  std::int64_t inputs = 0;   ///< of a row, where the model asks (mlp)
  std::int64_t outputs = 0;  ///< 1, classes, or the vocabulary
};

/// What the model will consist of, without making it.
std::vector<model::ParameterShape> model_parameters(const RunConfig& config, const TaskSize& size);

/// With the seed's weights; config.init_from is not looked at.
std::unique_ptr<model::Network> make_model(const RunConfig& config, const TaskSize& size);

/// "mlp 784-50-10", "gpt2, 12 layers of 768".
std::string describe_model(const RunConfig& config, const TaskSize& size);

/// Bytes that a step needs, roughly: weights, gradients, moments, and what the forward pass keeps for the pull-back.
std::int64_t step_bytes(const RunConfig& config, const TaskSize& size);

/// Throws std::invalid_argument when a step needs more than `memory_bytes` (0: unknown), which would end in the
/// kernel's killing the run.
void check_memory(const RunConfig& config, const TaskSize& size, std::int64_t memory_bytes);

}  // namespace lehi::train
