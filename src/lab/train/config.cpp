#include "train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <type_traits>

#include "files/files.h"
#include "lehi/version.h"
#include "runtime/message.h"
#include "train/config_keys.h"
#include "train/embedded.h"
#include "train/toml_file.h"

namespace lehi::train {
namespace {

constexpr std::uint64_t largest_config = 1 << 20;

// A value and where it came from, for messages.
struct Entry {
  std::string key;
  std::unique_ptr<toml::node> value;
  std::string source;
  bool from_file = false;
};
using Layer = std::vector<Entry>;

// Table and list of a key's value, or the value itself.
std::unique_ptr<toml::node> clone(const toml::node& node) {
  return node.visit([](const auto& value) -> std::unique_ptr<toml::node> {
    return std::make_unique<std::remove_cvref_t<decltype(value)>>(value);
  });
}

// "a.b.c" = value for everything in a table.
void flatten(const toml::table& table, const std::string& prefix, const std::string& where, Layer& layer) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix.empty() ? std::string(name.str()) : fmt::format("{}.{}", prefix, name.str());
    if (const auto* inner = node.as_table()) {
      flatten(*inner, key, where, layer);
    } else {
      layer.push_back({key, clone(node), fmt::format("{}, line {}", where, node.source().begin.line), true});
    }
  }
}

constexpr std::string_view extends_key = "extends";

// A built-in preset with what it extends before it.
void add_built_in(const std::string& file, std::vector<Layer>& layers) {
  const auto text = embedded_text(file);
  if (!text) throw_invalid_argument("there is no built-in configuration '{}'", file);
  const auto table = parse_toml(*text, "configs/" + file);
  if (const auto base = table[extends_key].value<std::string>()) add_built_in(*base, layers);
  Layer layer;
  flatten(table, "", "configs/" + file, layer);
  std::erase_if(layer, [](const Entry& entry) { return entry.key == extends_key; });
  layers.push_back(std::move(layer));
}

Layer file_layer(std::string_view text, const std::string& where) {
  Layer layer;
  flatten(parse_toml(text, where), "", where, layer);
  return layer;
}

// A word that is no TOML is a text: --set optimizer.mix=max.
std::unique_ptr<toml::node> parse_value(const std::string& text) {
  try {
    const auto table = toml::parse("value = " + text);
    if (table.size() == 1) return clone(*table.get("value"));
  } catch (const toml::parse_error&) {  // NOLINT(bugprone-empty-catch): then it is a text
  }
  return std::make_unique<toml::value<std::string>>(text);
}

Layer settings_layer(const std::vector<Setting>& settings) {
  Layer layer;
  for (const auto& [key, value, source] : settings) layer.push_back({key, parse_value(value), source, false});
  return layer;
}

// train.epochs is LEHI_TRAIN_EPOCHS. Task, preset and optimizer are the command's own arguments.
Layer environment_layer() {
  Layer layer;
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

// [optimizers.NAME] of a file, for the optimizer at hand, comes after its [optimizer].
struct Place {
  std::string optimizer;  ///< "" : holds for all
  std::string key;
};

Place place_of(const std::string& key) {
  constexpr std::string_view prefix = "optimizers.";
  if (!key.starts_with(prefix)) return {"", key};
  const auto dot = key.rfind('.');
  if (dot < prefix.size()) throw_invalid_argument("[optimizers] needs an optimizer's name, as in [optimizers.lehi]");
  return {key.substr(prefix.size(), dot - prefix.size()), "optimizer." + key.substr(dot + 1)};
}

template <class Action>
void blame(const Entry& entry, Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    const std::string text = fmt::format("{}: {}: {}", entry.source, entry.key, error.what());
    if (entry.from_file) throw ConfigError(text);
    throw std::invalid_argument(text);
  }
}

void apply_layer(const Layer& layer, RunConfig& config) {
  for (const bool own : {false, true}) {
    for (const Entry& entry : layer) {
      blame(entry, [&] {
        const Place place = place_of(entry.key);
        const Key& known = find_key(place.key);
        if (!place.optimizer.empty()) preset(place.optimizer);  // an unknown name is a mistake
        if (place.optimizer.empty() == own || (own && place.optimizer != config.optimizer.name)) return;
        if (known.name == "optimizer.name") return;  // chosen before
        known.read(config, *entry.value);
      });
    }
  }
}

bool mentions(const std::vector<Layer>& layers, std::string_view key) {
  return std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) {
    return std::any_of(layer.begin(), layer.end(), [&](const Entry& entry) { return place_of(entry.key).key == key; });
  });
}

std::string chosen_optimizer(const std::vector<Layer>& layers) {
  std::string name = "lehi";
  for (const Layer& layer : layers) {
    for (const Entry& entry : layer) {
      if (entry.key != "optimizer.name") continue;
      blame(entry, [&] {
        RunConfig chosen;
        find_key(entry.key).read(chosen, *entry.value);
        name = chosen.optimizer.name;
        preset(name);
      });
    }
  }
  return name;
}

// A run's own file has the keys of the version that wrote it. One that is unknown may decide the result, so it is
// refused; one that is missing has its default, which is what the run had before there was such a key.
void check_keys_of_run(const Layer& layer, const std::string& where) {
  for (const Entry& entry : layer) {
    try {
      find_key(place_of(entry.key).key);
    } catch (const std::invalid_argument& error) {
      throw ConfigError(fmt::format("{}: {}; a newer lehi than this one, {}, may have written the file", entry.source,
                                    error.what(), LEHI_VERSION));
    }
  }
  for (const Key& known : keys()) {
    if (known.required &&
        std::none_of(layer.begin(), layer.end(), [&](const Entry& entry) { return entry.key == known.name; })) {
      throw ConfigError(fmt::format("{}: the key {} is missing, which every run's config.toml has", where, known.name));
    }
  }
}

// The tasks on a file of the user's: "csv:FILE" has the preset csv.
constexpr std::array<std::string_view, 2> file_tasks = {"csv", "text"};

// "csv" of "csv:FILE"; "" where the task is none of these.
std::string_view file_task(std::string_view task) {
  for (const std::string_view kind : file_tasks) {
    if (task.starts_with(kind) && task.substr(kind.size()).starts_with(':')) return kind;
  }
  return "";
}

std::string preset_file(std::string_view preset, std::string_view task) {
  const auto kind = file_task(task);
  return fmt::format("{}/{}.toml", preset, kind.empty() ? task : kind);
}

// A run that resumes elsewhere must find the same file.
std::string with_absolute_path(const std::string& task) {
  const std::size_t prefix = file_task(task).size() + 1;
  if (prefix == 1 || task.size() == prefix) return task;
  return task.substr(0, prefix) + std::filesystem::absolute(task.substr(prefix)).lexically_normal().string();
}

}  // namespace

RunConfig resolve(const ConfigRequest& request) {
  const std::string preset_name = request.preset.empty() ? "paper" : request.preset;
  if (file_task(request.task).empty()) {
    const auto tasks = task_names();
    if (std::find(tasks.begin(), tasks.end(), request.task) == tasks.end()) {
      throw_invalid_argument("there is no task '{}'; there are {}, and csv:FILE and text:FILE for data of yours",
                             request.task, fmt::join(tasks, ", "));
    }
  }
  const auto presets = preset_names(request.task);
  if (std::find(presets.begin(), presets.end(), preset_name) == presets.end()) {
    throw_invalid_argument("task {} has no preset '{}'; it has {}", request.task, preset_name,
                           fmt::join(presets, ", "));
  }
  std::vector<Layer> layers;
  add_built_in(preset_file(preset_name, request.task), layers);
  const bool has_file = !request.file.empty();
  if (has_file) layers.push_back(file_layer(read_text(request.file, largest_config), request.file.string()));
  const std::size_t files = layers.size();
  layers.push_back(environment_layer());
  layers.push_back(settings_layer(request.settings));

  RunConfig config;
  config.optimizer = preset(request.optimizer.empty() ? chosen_optimizer(layers) : request.optimizer);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    apply_layer(layers[i], config);
    if (!has_file || i + 1 != files) continue;
    try {
      check(config);
    } catch (const std::invalid_argument& error) {
      throw ConfigError(fmt::format("{}: {}", request.file.string(), error.what()));
    }
  }
  // Nothing can be undone then, so the usual policy would be refused; one that the user chose is left to be.
  if (config.optimizer.update_during_pull_back && !mentions(layers, "optimizer.non_finite")) {
    config.optimizer.non_finite = NonFinite::record;
  }
  if (!config.init_from.empty()) {
    config.init_from = std::filesystem::absolute(config.init_from).lexically_normal().string();
  }
  config.task = with_absolute_path(request.task);
  config.preset = preset_name;
  config.optimizer.seed = config.seed;
  check(config);
  return config;
}

Setting parse_setting(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) throw_invalid_argument("--set {}: expected key=value", text);
  Setting setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), "--set"};
  if (setting.key == "task" || setting.key == "preset") {
    throw_invalid_argument("--set {}: the {} is an argument of its own", text, setting.key);
  }
  find_key(setting.key);
  return setting;
}

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
  std::vector<Layer> layers;
  layers.push_back(file_layer(text, where));
  const Layer& layer = layers.front();
  check_keys_of_run(layer, where);
  RunConfig config;
  try {
    config.optimizer = preset(chosen_optimizer(layers));
    apply_layer(layer, config);
    config.optimizer.seed = config.seed;
    check(config);
  } catch (const std::invalid_argument& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
  return config;
}

RunConfig read_config(const std::filesystem::path& path) {
  return from_toml(read_text(path, largest_config), path.string());
}

std::int64_t context_of(const RunConfig& config) {
  return config.model.context == 0 ? config.text.block : config.model.context;
}

std::string difference(const RunConfig& there, const RunConfig& here) {
  for (const Key& entry : keys()) {
    if (!entry.decides_result || entry.text(there) == entry.text(here)) continue;
    return fmt::format("{} is {} there and {} here", entry.name, entry.text(there), entry.text(here));
  }
  return "";
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  constexpr std::string_view folder = "paper/";
  constexpr std::string_view ending = ".toml";
  for (std::string_view file : embedded_names()) {
    if (!file.starts_with(folder)) continue;
    file = file.substr(folder.size(), file.size() - folder.size() - ending.size());
    if (std::find(file_tasks.begin(), file_tasks.end(), file) == file_tasks.end()) names.emplace_back(file);
  }
  return names;
}

std::vector<std::string> preset_names(std::string_view task) {
  std::vector<std::string> names;
  for (const std::string_view file : embedded_names()) {
    const auto slash = file.find('/');
    if (slash == std::string_view::npos) continue;
    if (file == preset_file(file.substr(0, slash), task)) names.emplace_back(file.substr(0, slash));
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> config_keys() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Key& entry : keys()) list.emplace_back(entry.name, entry.about);
  return list;
}

OptimizerChoice parse_optimizer_choice(std::string_view text) {
  OptimizerChoice choice{std::string(text), std::string(text), {}};
  if (const auto open = text.find('['); open != std::string_view::npos) {
    if (text.back() != ']') throw_invalid_argument("optimizer '{}': expected NAME[key=value,...]", text);
    choice.name = text.substr(0, open);
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const auto piece = rest.substr(0, comma);
      if (piece.find('=') == std::string_view::npos)
        throw_invalid_argument("optimizer '{}': expected NAME[key=value,...]", text);
      Setting setting = parse_setting(fmt::format("optimizer.{}", piece));
      setting.source = choice.text;
      choice.settings.push_back(std::move(setting));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  preset(choice.name);  // refuses an unknown one
  return choice;
}

}  // namespace lehi::train
