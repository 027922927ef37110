#include "train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "files/files.h"
#include "runtime/message.h"
#include "train/config_keys.h"
#include "train/config_layers.h"
#include "train/task_presets.h"

namespace lehi::train {
namespace {

void check_names(const std::string& task, const std::string& preset_name) {
  if (file_task(task).empty()) {
    const auto tasks = task_names();
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) {
      throw_invalid_argument("there is no task '{}'; there are {}, and csv:FILE and text:FILE for your own data", task,
                             fmt::join(tasks, ", "));
    }
  }
  const auto presets = preset_names(task);
  if (std::find(presets.begin(), presets.end(), preset_name) == presets.end()) {
    throw_invalid_argument("task {} has no preset '{}'; it has {}", task, preset_name, fmt::join(presets, ", "));
  }
}

}  // namespace

RunConfig resolve(const ConfigRequest& request) {
  const std::string preset_name = request.preset.empty() ? "paper" : request.preset;
  check_names(request.task, preset_name);
  std::vector<ConfigLayer> layers;
  add_built_in_layers(preset_file(preset_name, request.task), layers);
  const bool has_file = !request.file.empty();
  if (has_file) layers.push_back(file_layer(read_text(request.file, largest_config_file), request.file.string()));
  const std::size_t files = layers.size();
  layers.push_back(environment_layer());
  layers.push_back(settings_layer(request.settings));

  RunConfig config;
  config.optimizer = preset(request.optimizer.empty() ? chosen_optimizer(layers) : request.optimizer);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    apply_layer(layers[i], config);
    if (!has_file || i + 1 != files) continue;
    // Checked after the file's layer too, so that the message names the file that has the bad value.
    try {
      check(config);
    } catch (const std::invalid_argument& error) {
      throw ConfigError(fmt::format("{}: {}", request.file.string(), error.what()));
    }
  }
  // The default policy cannot be combined with updates during the backward pass. One that the user set is left, and
  // check() reports it.
  if (config.optimizer.update_during_pull_back && !has_key(layers, "optimizer.non_finite")) {
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
    throw_invalid_argument("--set {}: the {} has an argument of its own", text, setting.key);
  }
  find_key(setting.key);
  return setting;
}

std::int64_t context_of(const RunConfig& config) {
  return config.model.context == 0 ? config.text.block : config.model.context;
}

std::vector<std::pair<std::string, std::string>> config_keys() {
  std::vector<std::pair<std::string, std::string>> list;
  list.reserve(keys().size());
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
  preset(choice.name);  // throws for an unknown name
  return choice;
}

}  // namespace lehi::train
