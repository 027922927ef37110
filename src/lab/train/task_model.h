// The network of a configuration.
#pragma once

#include <memory>

#include "model/network.h"
#include "train/config.h"

namespace lehi::train {

/// The sizes of a model that the data determine.
struct TaskSize {
  std::int64_t inputs = 0;   ///< values per row, for an mlp
  std::int64_t outputs = 0;  ///< 1, number of classes, or size of the vocabulary
};

/// Names and shapes of the parameters, without creating the model.
std::vector<model::ParameterShape> model_parameters(const RunConfig& config, const TaskSize& size);

/// Creates the model with random weights of the seed; does not load config.init_from.
std::unique_ptr<model::Network> make_model(const RunConfig& config, const TaskSize& size);

/// "mlp 784-50-10", "gpt2 12 x 768".
std::string describe_model(const RunConfig& config, const TaskSize& size);

/// An estimate of the bytes that a step needs in one of `ranks` processes: weights, gradients, the optimizer's state,
/// and saved activations.
std::int64_t step_bytes(const RunConfig& config, const TaskSize& size, int ranks);

/// Throws std::invalid_argument if a step needs more than `memory_bytes` (0: unknown): the kernel would kill the run.
void check_memory(const RunConfig& config, const TaskSize& size, int ranks, std::int64_t memory_bytes);

}  // namespace lehi::train
