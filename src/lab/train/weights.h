// A model's weights from files of Hugging Face's tools or llm.c. Only names and shapes are read at first; a tensor is
// read on demand, so loading needs the memory of the largest tensor.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <string>

#include "train/safetensors.h"

namespace lehi::train {

/// Opens a .safetensors file, a .safetensors.index.json of several, a directory with model.safetensors or such an index
/// (also a checkpoint of lehi), or llm.c's GPT-2 checkpoint .bin. FileError if it is none of these, or damaged.
LazyTensors open_weights(const std::filesystem::path& path);

/// The contents of the config.json beside the weights, or one made from the header of llm.c's checkpoint; "" if there
/// is none.
std::string model_config(const std::filesystem::path& weights);

/// Copies every parameter from the file and converts it to the parameter's type. Names may have the prefix
/// "transformer."; known buffers and a tied lm_head.weight are skipped. FileError for a missing parameter, another
/// shape, or a tensor that the model does not have; no parameter is changed then. FileError also for a value that is
/// not finite, after some parameters may have been copied.
void load_weights(const std::filesystem::path& file, const torch::OrderedDict<std::string, torch::Tensor>& parameters);

}  // namespace lehi::train
