#include "train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>

#define TOML_ENABLE_FORMATTERS 1
#include <toml++/toml.h>

#include "runtime/message.h"
#include "runtime/names.h"
#include "runtime/nearest.h"
#include "train/embedded.h"
#include "train/files.h"

namespace lehi::train {
namespace {

constexpr std::uint64_t largest_config = 1 << 20;

// ---- Values: between TOML and the fields of a configuration.

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&text](const auto& value) { text << toml::node_view<const toml::node>(&value); });
  return text.str();
}

[[noreturn]] void wrong_kind(const toml::node& node, std::string_view expected) {
  refuse("{} is not {}", shown(node), expected);
}

void read(const toml::node& node, std::string& field) {
  const auto value = node.value_exact<std::string>();
  if (!value) wrong_kind(node, "a text in quotes");
  field = *value;
}

void read(const toml::node& node, bool& field) {
  const auto value = node.value_exact<bool>();
  if (!value) wrong_kind(node, "true or false");
  field = *value;
}

void read(const toml::node& node, std::int64_t& field) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value) wrong_kind(node, "a whole number");
  field = *value;
}

void read(const toml::node& node, std::uint64_t& field) {
  std::int64_t value = 0;
  read(node, value);
  if (value < 0) wrong_kind(node, "a whole number of at least 0");
  field = static_cast<std::uint64_t>(value);
}

void read(const toml::node& node, double& field) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value)) wrong_kind(node, "a finite number");
  field = *value;
}

// 0 stands for none: TOML has no null.
void read(const toml::node& node, std::optional<double>& field) {
  double value = 0.0;
  read(node, value);
  field = value == 0.0 ? std::nullopt : std::optional(value);
}

template <class T>
void read(const toml::node& node, std::vector<T>& field) {
  const auto* list = node.as_array();
  if (list == nullptr) wrong_kind(node, "a list, such as [1, 2]");
  std::vector<T> values(list->size());
  for (std::size_t i = 0; i < values.size(); ++i) read((*list)[i], values[i]);
  field = std::move(values);
}

std::string literal(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\u{:04X}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string literal(bool value) { return value ? "true" : "false"; }
std::string literal(std::int64_t value) { return std::to_string(value); }
std::string literal(std::uint64_t value) { return std::to_string(value); }
// The shortest text that reads back as the same number; TOML wants a point or an exponent in it.
std::string literal(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string literal(const std::optional<double>& value) { return literal(value.value_or(0.0)); }

template <class T>
std::string literal(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) texts.push_back(literal(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// ---- The table of keys.

struct Key {
  std::string name;
  std::string about;
  std::function<void(RunConfig&, const toml::node&)> read;
  std::function<std::string(const RunConfig&)> text;
  bool decides_result = true;
};

template <class Access>
Key key(std::string name, std::string about, Access access) {
  return {std::move(name), std::move(about),
          [access](RunConfig& config, const toml::node& node) { lehi::train::read(node, access(config)); },
          [access](const RunConfig& config) {
            RunConfig copy = config;
            return literal(access(copy));
          }};
}

// An enumeration, by its names.
template <class Access, class FromName>
Key named_key(std::string name, std::string about, Access access, FromName from_name) {
  return {std::move(name), std::move(about),
          [access, from_name](RunConfig& config, const toml::node& node) {
            std::string text;
            lehi::train::read(node, text);
            access(config) = from_name(text);
          },
          [access](const RunConfig& config) {
            RunConfig copy = config;
            using lehi::name;
            using lehi::train::name;
            return literal(std::string(name(access(copy))));
          }};
}

// One of two keys that exclude each other: setting it unsets the other.
Key length_key(std::string name, std::string about, std::int64_t RunConfig::*field, std::int64_t RunConfig::*other) {
  Key result = key(
      std::move(name), std::move(about), [field](RunConfig & c) -> auto& { return c.*field; });
  result.read = [field, other](RunConfig& config, const toml::node& node) {
    lehi::train::read(node, config.*field);
    if (config.*field != 0) config.*other = 0;
  };
  return result;
}

// A key that does not decide the result.
Key no_effect(Key key) {
  key.decides_result = false;
  return key;
}

// What a key sets, as a function of the configuration.
#define FIELD(member) \
  [](RunConfig & config) -> auto& { return config.member; }

const std::vector<Key>& keys() {
  // clang-format off
  static const std::vector<Key> table = {
      key("task", "what to train on: a name of `lehi list tasks`, or csv:FILE", FIELD(task)),
      no_effect(key("preset", "the file of configs/ that it started from", FIELD(preset))),
      key("seed", "of the weights, the order of the rows, the probes and what is held out", FIELD(seed)),

      key("data.target", "csv: the column to predict", FIELD(target)),
      key("data.kind", "csv: regression, binary or classification; empty: by the target's type", FIELD(kind)),
      key("data.validation", "part of the training rows held out for validation", FIELD(validation)),
      key("data.split", "seed of the train/test split; -1: the run's seed", FIELD(split)),

      key("data.augment", "images: random crops and flips", FIELD(augment)),
      key("data.train_rows", "the first training rows only; 0: all", FIELD(train_rows)),
      key("data.test_rows", "the first test rows only; 0: all", FIELD(test_rows)),

      key("text.tokenizer", "gpt2, llama3 or bytes", FIELD(text.tokenizer)),
      key("text.corpus", "speeches: that text instead of the task's own files", FIELD(text.corpus)),
      key("text.field", "of JSON Lines: where a document's text is", FIELD(text.field)),
      key("text.block", "tokens of a row", FIELD(text.block)),
      key("text.test", "part held out for testing where a text has no official parts", FIELD(text.test)),
      key("text.train_tokens", "at most so many; 0: all", FIELD(text.train_tokens)),
      key("text.test_tokens", "at most so many; 0: all", FIELD(text.test_tokens)),

      key("model.kind", "mlp, resnet, gpt2 or llama", FIELD(model.kind)),
      key("model.hidden", "mlp: widths of the hidden layers", FIELD(model.hidden)),
      key("model.blocks", "resnet: blocks of each stage", FIELD(model.blocks)),
      key("model.width", "resnet: of the first stage; gpt2, llama: of the hidden values", FIELD(model.width)),
      key("model.layers", "gpt2, llama: number of blocks", FIELD(model.layers)),
      key("model.heads", "gpt2, llama: attention heads", FIELD(model.heads)),
      key("model.key_heads", "llama: heads of keys and values", FIELD(model.key_heads)),
      key("model.inner", "llama: width of the feed-forward part", FIELD(model.inner)),
      key("model.context", "gpt2, llama: longest row that the model can read", FIELD(model.context)),
      key("model.dropout", "gpt2, llama: part of the values dropped in training", FIELD(model.dropout)),
      key("model.rotary_base", "llama: of the positions' frequencies", FIELD(model.rotary_base)),
      key("model.rotary_factor", "llama: how much long waves are slowed down; 1: not at all", FIELD(model.rotary_factor)),
      no_effect(key("model.recompute", "saves memory: activations are computed again in the pull-back", FIELD(model.recompute))),
      key("model.chunk", "gpt2, llama: rows of the head and its loss at once; 0: by size", FIELD(model.chunk)),

      length_key("train.epochs", "passes over the training rows", &RunConfig::epochs, &RunConfig::steps),
      length_key("train.steps", "optimizer steps, instead of epochs", &RunConfig::steps, &RunConfig::epochs),
      key("train.batch_size", "rows of a step", FIELD(batch_size)),
      key("train.accumulate", "micro-batches that a step's rows are split into", FIELD(accumulate)),
      key("train.evaluate_every", "steps between evaluations; 0: at the end of every epoch", FIELD(evaluate_every)),
      key("train.threads", "threads of a run; 0: as many as the machine gives and the model is worth", FIELD(threads)),
      key("train.init_from", "a file of weights to start from: safetensors (one file or shards) or llm.c's .bin", FIELD(init_from)),
      no_effect(key("train.low_memory", "update each weight during the pull-back; needs optimizer.non_finite = record", FIELD(optimizer.update_during_pull_back))),

      named_key("rate.schedule", "constant, linear, cosine or wsd", FIELD(rate.shape), rate_shape_from_name),
      key("rate.warmup", "first steps on which the rate rises to its value", FIELD(rate.warmup)),
      key("rate.decay", "wsd: part of the run over which the rate falls", FIELD(rate.decay)),
      key("rate.floor", "fraction of the rate that is left at the end", FIELD(rate.floor)),

      key("optimizer.name", "a name of `lehi list optimizers`", FIELD(optimizer.name)),
      key("optimizer.lr", "learning rate", FIELD(optimizer.group.lr)),
      key("optimizer.beta1", "decay of the momentum m", FIELD(optimizer.group.beta1)),
      key("optimizer.beta2", "decay of the kept curvature v", FIELD(optimizer.group.beta2)),
      key("optimizer.eps", "smallest scale that the step divides by", FIELD(optimizer.group.eps)),
      key("optimizer.weight_decay", "decoupled weight decay", FIELD(optimizer.group.weight_decay)),
      key("optimizer.momentum", "sgd and rmsprop", FIELD(optimizer.group.momentum)),
      key("optimizer.dampening", "sgd", FIELD(optimizer.group.dampening)),
      key("optimizer.nesterov", "sgd", FIELD(optimizer.group.nesterov)),
      key("optimizer.momentum_decay", "nadam", FIELD(optimizer.group.momentum_decay)),
      key("optimizer.rho", "sophia-g's clipping constant", FIELD(optimizer.group.rho)),
      key("optimizer.clip_norm", "largest global 2-norm of the gradient; 0: no clipping", FIELD(optimizer.clip_norm)),
      named_key("optimizer.non_finite", "throw (the run ends as diverged), skip or record", FIELD(optimizer.non_finite), non_finite_from_name),
      named_key("optimizer.probe", "a name of `lehi list probes`", FIELD(optimizer.recipe.probe), probe_from_name),
      key("optimizer.refresh_every", "steps between two probes", FIELD(optimizer.recipe.schedule.every)),
      key("optimizer.dense", "first steps that all have a probe", FIELD(optimizer.recipe.schedule.dense)),
      key("optimizer.alternate", "every second refresh uses the gradient", FIELD(optimizer.recipe.schedule.alternate)),
      named_key("optimizer.accumulator", "how s^2 is kept", FIELD(optimizer.recipe.accumulator), accumulator_from_name),
      named_key("optimizer.mix", "none, sum or max of probe and gradient", FIELD(optimizer.recipe.mix), mix_from_name),
      named_key("optimizer.rule", "how m and v become a step", FIELD(optimizer.recipe.rule), rule_from_name),
      named_key("optimizer.scale", "sqrt-n or mean", FIELD(optimizer.recipe.scale), scale_from_name),

      no_effect(key("checkpoint.every", "steps between checkpoints; 0: at evaluations", FIELD(checkpoint_every))),
      no_effect(key("checkpoint.keep", "newest checkpoints that stay; 0: none are written", FIELD(keep))),

      no_effect(key("judge.metric", "the number of metrics.jsonl that runs are compared by", FIELD(judge.metric))),
      no_effect(key("judge.window", "evaluations at the end of a run that its score looks at", FIELD(judge.window))),
      no_effect(key("judge.rates", "learning rates that a sweep tries", FIELD(judge.rates))),
      no_effect(key("judge.smoothing", "weight of the new value in a figure's moving average", FIELD(judge.smoothing))),
      no_effect(key("judge.cut", "first evaluations that a figure leaves out", FIELD(judge.cut))),
  };
  // clang-format on
  return table;
}

#undef FIELD

const Key& find_key(std::string_view name) {
  for (const Key& entry : keys()) {
    if (entry.name == name) return entry;
  }
  std::vector<std::string> known;
  for (const Key& entry : keys()) known.push_back(entry.name);
  refuse("there is no key '{}'{}; `lehi train --help-config` lists them", name, suggestion(name, known));
}

// ---- Layers.

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

toml::table parse_toml(std::string_view text, const std::string& where) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}, line {}, column {}: {}", where, error.source().begin.line,
                                  error.source().begin.column, error.description()));
  }
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
  if (!text) refuse("there is no built-in configuration '{}'", file);
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
  if (dot < prefix.size()) refuse("[optimizers] needs an optimizer's name, as in [optimizers.lehi]");
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
        read(*entry.value, name);
        preset(name);
      });
    }
  }
  return name;
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

void check_range(std::string_view key, double value, double low, double high, std::string_view range) {
  if (!(value >= low && value <= high)) refuse("{} is {}, but must be {}", key, value, range);
}

void check_at_least(std::string_view key, std::int64_t value, std::int64_t low) {
  if (value < low) refuse("{} is {}, but must be at least {}", key, value, low);
}

void check_one_of(std::string_view key, std::string_view value, std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  refuse("{} is '{}', but must be one of {}", key, value, fmt::join(known, ", "));
}

void check(const ModelConfig& model) {
  check_one_of("model.kind", model.kind, {"mlp", "resnet", "gpt2", "llama"});
  constexpr std::int64_t largest = 1 << 20;
  const auto check_sizes = [&](std::string_view key, const std::vector<std::int64_t>& sizes) {
    if (sizes.size() > 64) refuse("{} has {} entries, but may have 64", key, sizes.size());
    for (const std::int64_t size : sizes) {
      check_at_least(key, size, 1);
      if (size > largest) refuse("{} has an entry of {}, but the largest may be {}", key, size, largest);
    }
  };
  check_sizes("model.hidden", model.hidden);
  check_sizes("model.blocks", model.blocks);
  const std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers = {
      {"model.width", model.width},         {"model.layers", model.layers}, {"model.heads", model.heads},
      {"model.key_heads", model.key_heads}, {"model.inner", model.inner},   {"model.context", model.context},
      {"model.chunk", model.chunk}};
  for (const auto& [key, value] : numbers) {
    check_at_least(key, value, 0);
    if (value > largest) refuse("{} is {}, but may be at most {}", key, value, largest);
  }
  check_range("model.rotary_base", model.rotary_base, 1.0, 1e12, "in [1, 1e12]");
  check_range("model.rotary_factor", model.rotary_factor, 1.0, 1e6, "in [1, 1e6]");
  check_range("model.dropout", model.dropout, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
}

void check(const TextConfig& text) {
  check_one_of("text.tokenizer", text.tokenizer, {"gpt2", "llama3", "bytes"});
  check_one_of("text.corpus", text.corpus, {"", "speeches"});
  check_at_least("text.block", text.block, 1);
  check_range("text.test", text.test, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
  check_at_least("text.train_tokens", text.train_tokens, 0);
  check_at_least("text.test_tokens", text.test_tokens, 0);
}

// The library refuses these too; here they have the names of the configuration.
void check_low_memory(const RunConfig& config) {
  const Options& optimizer = config.optimizer;
  if (!optimizer.update_during_pull_back) return;
  constexpr std::string_view why = "it changes weights before the whole gradient is known";
  if (optimizer.clip_norm) refuse("train.low_memory can't be joined with optimizer.clip_norm: {}", why);
  if (config.accumulate > 1) {
    refuse("train.low_memory can't be joined with train.accumulate = {}: {}", config.accumulate, why);
  }
  if (optimizer.non_finite == NonFinite::record) return;
  refuse("train.low_memory can't be joined with optimizer.non_finite = {}, which would have to undo: choose record",
         name(optimizer.non_finite));
}

}  // namespace

RunConfig resolve(const ConfigRequest& request) {
  const std::string preset_name = request.preset.empty() ? "paper" : request.preset;
  if (file_task(request.task).empty()) {
    const auto tasks = task_names();
    if (std::find(tasks.begin(), tasks.end(), request.task) == tasks.end()) {
      refuse("there is no task '{}'; there are {}, and csv:FILE and text:FILE for data of yours", request.task,
             fmt::join(tasks, ", "));
    }
  }
  const auto presets = preset_names(request.task);
  if (std::find(presets.begin(), presets.end(), preset_name) == presets.end()) {
    refuse("task {} has no preset '{}'; it has {}", request.task, preset_name, fmt::join(presets, ", "));
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
  if (equals == std::string_view::npos || equals == 0) refuse("--set {}: expected key=value", text);
  Setting setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), "--set"};
  if (setting.key == "task" || setting.key == "preset") {
    refuse("--set {}: the {} is an argument of its own", text, setting.key);
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
  for (const Key& entry : keys()) {
    if (std::none_of(layer.begin(), layer.end(), [&](const Entry& given) { return given.key == entry.name; })) {
      throw ConfigError(fmt::format("{}: the key {} is missing; a run's config.toml has them all", where, entry.name));
    }
  }
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

std::string difference(const RunConfig& there, const RunConfig& here) {
  for (const Key& entry : keys()) {
    if (!entry.decides_result || entry.text(there) == entry.text(here)) continue;
    return fmt::format("{} is {} there and {} here", entry.name, entry.text(there), entry.text(here));
  }
  return "";
}

void check(const RunConfig& config) {
  check_at_least("train.epochs", config.epochs, 0);
  check_at_least("train.steps", config.steps, 0);
  if (config.epochs == 0 && config.steps == 0) refuse("train.epochs and train.steps are both 0: set one of them");
  if (config.epochs != 0 && config.steps != 0) refuse("train.epochs and train.steps are both set: choose one");
  check_at_least("train.batch_size", config.batch_size, 1);
  check_at_least("train.accumulate", config.accumulate, 1);
  if (config.accumulate > config.batch_size) {
    refuse("train.accumulate is {}, but a step has only {} rows to split", config.accumulate, config.batch_size);
  }
  check_at_least("train.evaluate_every", config.evaluate_every, 0);
  check_at_least("train.threads", config.threads, 0);
  check(config.model);
  check(config.text);
  check_at_least("data.train_rows", config.train_rows, 0);
  check_at_least("data.test_rows", config.test_rows, 0);
  check_range("data.validation", config.validation, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
  check_at_least("data.split", config.split, -1);
  check_at_least("rate.warmup", config.rate.warmup, 0);
  check_range("rate.decay", config.rate.decay, std::numeric_limits<double>::min(), 1.0, "in (0, 1]");
  check_range("rate.floor", config.rate.floor, 0.0, 1.0, "in [0, 1]");
  check_at_least("checkpoint.every", config.checkpoint_every, 0);
  check_at_least("checkpoint.keep", config.keep, 0);
  check_at_least("judge.window", config.judge.window, 1);
  check_at_least("judge.cut", config.judge.cut, 0);
  check_range("judge.smoothing", config.judge.smoothing, std::numeric_limits<double>::min(), 1.0, "in (0, 1]");
  for (const double rate : config.judge.rates) {
    check_range("judge.rates", rate, std::numeric_limits<double>::min(), 1e6, "positive rates");
  }
  check_low_memory(config);
  lehi::check(config.optimizer);
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
    if (text.back() != ']') refuse("optimizer '{}': expected NAME[key=value,...]", text);
    choice.name = text.substr(0, open);
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const auto piece = rest.substr(0, comma);
      if (piece.find('=') == std::string_view::npos) refuse("optimizer '{}': expected NAME[key=value,...]", text);
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
