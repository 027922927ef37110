// The sizes of a model from the config.json beside Hugging Face's weights, as settings of a run; and the config.json of
// a run's model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config.h"

namespace lehi::train {

/// The keys of [model] and text.tokenizer for these weights; empty if there is no config.json. FileError if it is
/// damaged or of a model other than gpt2 and llama.
std::vector<Setting> weight_settings(const std::filesystem::path& weights);

/// The config.json of the run's model, for Hugging Face's programs and for weight_settings(); "" for models other than
/// gpt2 and llama.
std::string weight_config(const RunConfig& config, std::int64_t vocabulary);

}  // namespace lehi::train
