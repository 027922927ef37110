// What the config.json beside Hugging Face's weights says of the model, as settings of a run, so that nobody has to
// type a model's sizes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config.h"

namespace lehi::train {

/// [model] and text.tokenizer of the weights; empty where no config.json tells. FileError for a config.json of another
/// kind of model than gpt2 and llama, or one whose numbers make no sense.
std::vector<Setting> weight_settings(const std::filesystem::path& weights);

/// The config.json of the run's model, for Hugging Face's programs and for weight_settings(); "" for models that they
/// do not have.
std::string weight_config(const RunConfig& config, std::int64_t vocabulary);

}  // namespace lehi::train
