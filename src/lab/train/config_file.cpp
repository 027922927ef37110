// config.toml: a run's resolved configuration as a file.
#include <fmt/format.h>

#include <algorithm>

#include "files/files.h"
#include "lehi/version.h"
#include "train/config.h"
#include "train/config_keys.h"
#include "train/config_layers.h"

namespace lehi::train {
namespace {

bool has_key(const ConfigLayer& layer, std::string_view name) {
  return std::any_of(layer.begin(), layer.end(), [&](const LayerEntry& entry) { return entry.key == name; });
}

// A run's own file has the keys of the version that wrote it. An unknown key may decide the result and is an error; a
// missing one has its default, which is how the run behaved before the key existed.
void check_keys_of_run(const ConfigLayer& layer, const std::string& where) {
  for (const LayerEntry& entry : layer) {
    try {
      find_key(config_key(entry.key));
    } catch (const std::invalid_argument& error) {
      throw ConfigError(fmt::format("{}: {}; a newer lehi than this one, {}, may have written the file", entry.source,
                                    error.what(), LEHI_VERSION));
    }
  }
  for (const Key& known : keys()) {
    if (known.required && !has_key(layer, known.name)) {
      throw ConfigError(fmt::format("{}: the key {} is missing, which every run's config.toml has", where, known.name));
    }
  }
}

}  // namespace

std::string to_toml(const RunConfig& config) {
  std::string text = "# The resolved configuration of a run, written by lehi.\n";
  std::string section;
  for (const Key& entry : keys()) {
    const auto dot = entry.name.find('.');
    const std::string own = dot == std::string::npos ? "" : entry.name.substr(0, dot);
    if (own != section) text += fmt::format("\n[{}]\n", own);
    section = own;
    text += fmt::format("{} = {}\n", dot == std::string::npos ? entry.name : entry.name.substr(dot + 1),
                        entry.text(config));
  }
  return text;
}

RunConfig from_toml(std::string_view text, const std::string& where) {
  std::vector<ConfigLayer> layers;
  layers.push_back(file_layer(text, where));
  const ConfigLayer& layer = layers.front();
  check_keys_of_run(layer, where);
  RunConfig config;
  try {
    config.optimizer = preset(chosen_optimizer(layers));
    apply_layer(layer, config);
    // Version 0.1 had no such key, and decoupled decay in every optimizer.
    if (!has_key(layer, "optimizer.decay") && config.optimizer.group.weight_decay != 0.0) {
      config.optimizer.recipe.decay = Decay::decoupled;
    }
    config.optimizer.seed = config.seed;
    check(config);
  } catch (const std::invalid_argument& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
  return config;
}

RunConfig read_config(const std::filesystem::path& path) {
  return from_toml(read_text(path, largest_config_file), path.string());
}

std::string difference(const RunConfig& there, const RunConfig& here) {
  for (const Key& entry : keys()) {
    if (!entry.decides_result || entry.text(there) == entry.text(here)) continue;
    return fmt::format("{} is {} there and {} here", entry.name, entry.text(there), entry.text(here));
  }
  return "";
}

}  // namespace lehi::train
