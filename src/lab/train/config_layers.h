// The layers that a configuration is made of: settings with their sources, before they are applied. For config.cpp and
// config_file.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"
#include "train/toml_file.h"

namespace lehi::train {

inline constexpr std::uint64_t largest_config_file = 1 << 20;  ///< bytes

struct LayerEntry {
  std::string key;  ///< as written: "optimizer.lr", "optimizers.adam.lr"
  std::unique_ptr<toml::node> value;
  std::string source;  ///< for messages: "--lr", "mine.toml, line 3"
  bool from_file = false;
};
using ConfigLayer = std::vector<LayerEntry>;

/// The layer of a TOML document; `where` names it in messages.
ConfigLayer file_layer(std::string_view text, const std::string& where);

/// The layer of --set and flags.
ConfigLayer settings_layer(const std::vector<Setting>& settings);

/// The layer of environment variables: LEHI_TRAIN_EPOCHS sets train.epochs. Task and preset are arguments of the
/// command and have none.
ConfigLayer environment_layer();

/// Appends a built-in file of configs/, after the one that it extends.
void add_built_in_layers(const std::string& file, std::vector<ConfigLayer>& layers);

/// The configuration's key that an entry sets: "optimizer.lr" for "optimizers.adam.lr".
std::string config_key(const std::string& entry_key);

/// Whether any entry sets the key.
bool has_key(const std::vector<ConfigLayer>& layers, std::string_view key);

/// The optimizer that the last entry of optimizer.name sets; "lehi" if there is none.
std::string chosen_optimizer(const std::vector<ConfigLayer>& layers);

/// Sets the configuration's fields: first those for any optimizer, then those of [optimizers.NAME] for the
/// configuration's own optimizer. Throws ConfigError for a bad value in a file, std::invalid_argument for others.
void apply_layer(const ConfigLayer& layer, RunConfig& config);

}  // namespace lehi::train
