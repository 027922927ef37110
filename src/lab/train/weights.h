// A model's weights from files of Hugging Face's or of llm.c. Nothing but names and shapes is read until a tensor is
// asked for, so a file needs the memory of its largest tensor.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <string>

#include "train/safetensors.h"

namespace lehi::train {

/// A .safetensors file, a .safetensors.index.json of several, a folder with model.safetensors or such an index (also a
/// checkpoint of ours), or llm.c's GPT-2 checkpoint .bin. FileError where it is none of these, or damaged.
LazyTensors open_weights(const std::filesystem::path& path);

/// The text of the config.json that belongs to weights: the file beside them, or what it would be for llm.c's
/// checkpoint; "" when there is none.
std::string model_config(const std::filesystem::path& weights);

/// Copies every parameter from the file, in the parameter's type. Names may have the prefix "transformer."; known
/// buffers and a tied lm_head.weight are skipped. FileError for a missing parameter, another shape, a tensor that the
/// model does not have (nothing is changed then) and for a value that is not finite (some parameters may be copied).
void load_weights(const std::filesystem::path& file, const torch::OrderedDict<std::string, torch::Tensor>& parameters);

}  // namespace lehi::train
