#include "train/config_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "runtime/message.h"
#include "train/config_keys.h"
#include "train/embedded.h"

namespace lehi::train {
namespace {

constexpr std::string_view extends_key = "extends";

std::unique_ptr<toml::node> clone(const toml::node& node) {
  return node.visit([](const auto& value) -> std::unique_ptr<toml::node> {
    return std::make_unique<std::remove_cvref_t<decltype(value)>>(value);
  });
}

// One entry "a.b.c" for every value in nested tables.
void flatten(const toml::table& table, const std::string& prefix, const std::string& where, ConfigLayer& layer) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix.empty() ? std::string(name.str()) : fmt::format("{}.{}", prefix, name.str());
    if (const auto* inner = node.as_table()) {
      flatten(*inner, key, where, layer);
    } else {
      layer.push_back({key, clone(node), fmt::format("{}, line {}", where, node.source().begin.line), true});
    }
  }
}

// A value that is not valid TOML is a string: --set optimizer.mix=max.
std::unique_ptr<toml::node> parse_value(const std::string& text) {
  try {
    const auto table = toml::parse("value = " + text);
    if (table.size() == 1) return clone(*table.get("value"));
  } catch (const toml::parse_error&) {  // NOLINT(bugprone-empty-catch): then it is a string
  }
  return std::make_unique<toml::value<std::string>>(text);
}

struct EntryTarget {
  std::string optimizer;  ///< the NAME of [optimizers.NAME]; "": any optimizer
  std::string key;        ///< of the configuration
};

EntryTarget target_of(const std::string& key) {
  constexpr std::string_view prefix = "optimizers.";
  if (!key.starts_with(prefix)) return {"", key};
  const auto dot = key.rfind('.');
  if (dot < prefix.size()) throw_invalid_argument("[optimizers] needs an optimizer's name, as in [optimizers.lehi]");
  return {key.substr(prefix.size(), dot - prefix.size()), "optimizer." + key.substr(dot + 1)};
}

// Adds an entry's source and key to the message of what `action` throws.
template <class Action>
void with_source(const LayerEntry& entry, Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    const std::string text = fmt::format("{}: {}: {}", entry.source, entry.key, error.what());
    if (entry.from_file) throw ConfigError(text);
    throw std::invalid_argument(text);
  }
}

}  // namespace

ConfigLayer file_layer(std::string_view text, const std::string& where) {
  ConfigLayer layer;
  flatten(parse_toml(text, where), "", where, layer);
  return layer;
}

ConfigLayer settings_layer(const std::vector<Setting>& settings) {
  ConfigLayer layer;
  layer.reserve(settings.size());
  for (const auto& [key, value, source] : settings) layer.push_back({key, parse_value(value), source, false});
  return layer;
}

ConfigLayer environment_layer() {
  ConfigLayer layer;
  for (const Key& entry : keys()) {
    if (entry.name == "task" || entry.name == "preset") continue;
    std::string variable = "LEHI_" + entry.name;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return c == '.' ? '_' : static_cast<char>(std::toupper(c)); });
    if (const char* text = std::getenv(variable.c_str()); text != nullptr && *text != '\0') {
      layer.push_back({entry.name, parse_value(text), variable, false});
    }
  }
  return layer;
}

void add_built_in_layers(const std::string& file, std::vector<ConfigLayer>& layers) {
  const auto text = embedded_text(file);
  if (!text) throw_invalid_argument("there is no built-in configuration '{}'", file);
  const auto table = parse_toml(*text, "configs/" + file);
  if (const auto base = table[extends_key].value<std::string>()) add_built_in_layers(*base, layers);
  ConfigLayer layer;
  flatten(table, "", "configs/" + file, layer);
  std::erase_if(layer, [](const LayerEntry& entry) { return entry.key == extends_key; });
  layers.push_back(std::move(layer));
}

std::string config_key(const std::string& entry_key) { return target_of(entry_key).key; }

bool has_key(const std::vector<ConfigLayer>& layers, std::string_view key) {
  return std::any_of(layers.begin(), layers.end(), [&](const ConfigLayer& layer) {
    return std::any_of(layer.begin(), layer.end(),
                       [&](const LayerEntry& entry) { return config_key(entry.key) == key; });
  });
}

std::string chosen_optimizer(const std::vector<ConfigLayer>& layers) {
  std::string name = "lehi";
  for (const ConfigLayer& layer : layers) {
    for (const LayerEntry& entry : layer) {
      if (entry.key != "optimizer.name") continue;
      with_source(entry, [&] {
        RunConfig chosen;
        find_key(entry.key).read(chosen, *entry.value);
        name = chosen.optimizer.name;
        preset(name);  // throws for an unknown name
      });
    }
  }
  return name;
}

void apply_layer(const ConfigLayer& layer, RunConfig& config) {
  for (const bool own : {false, true}) {
    for (const LayerEntry& entry : layer) {
      with_source(entry, [&] {
        const EntryTarget target = target_of(entry.key);
        const Key& key = find_key(target.key);
        if (!target.optimizer.empty()) preset(target.optimizer);  // throws for an unknown name
        if (target.optimizer.empty() == own || (own && target.optimizer != config.optimizer.name)) return;
        if (key.name == "optimizer.name") return;  // chosen before
        key.read(config, *entry.value);
      });
    }
  }
}

}  // namespace lehi::train
