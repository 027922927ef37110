#include "train/config_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/nearest.h"
#include "runtime/message.h"

namespace lehi::train {
namespace {

// TOML values to fields.

[[noreturn]] void wrong_kind(const toml::node& node, std::string_view expected) {
  throw_invalid_argument("{} is not {}", shown_toml(node), expected);
}

void read(const toml::node& node, std::string& field) {
  const auto value = node.value_exact<std::string>();
  if (!value) wrong_kind(node, "a string in quotes");
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

// 0 means no value: TOML has no null.
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

// Fields to TOML values.

std::string literal(const std::string& value) { return toml_literal(value); }
std::string literal(bool value) { return value ? "true" : "false"; }
std::string literal(std::int64_t value) { return std::to_string(value); }
std::string literal(std::uint64_t value) { return std::to_string(value); }
std::string literal(double value) { return toml_literal(value); }
std::string literal(const std::optional<double>& value) { return literal(value.value_or(0.0)); }

template <class T>
std::string literal(const std::vector<T>& values) {
  std::vector<std::string> literals;
  literals.reserve(values.size());
  for (const T& value : values) literals.push_back(literal(value));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

// `access` returns the field of a configuration.
template <class Access>
Key key(std::string name, std::string about, Access access) {
  return {std::move(name), std::move(about),
          [access](RunConfig& config, const toml::node& node) { lehi::train::read(node, access(config)); },
          [access](const RunConfig& config) {
            RunConfig copy = config;
            return literal(access(copy));
          }};
}

// An enumeration, written by its names.
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

// A key that does not affect the result.
Key no_effect(Key key) {
  key.decides_result = false;
  return key;
}

// A key that the config.toml of every version has.
Key required(Key key) {
  key.required = true;
  return key;
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): pointers to members of members would triple
// the table
#define FIELD(member) \
  [](RunConfig & config) -> auto& { return config.member; }
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

}  // namespace

const std::vector<Key>& keys() {
  // clang-format off
  static const std::vector<Key> table = {
      required(key("task", "what to train on: a name of `lehi list tasks`, or csv:FILE", FIELD(task))),
      no_effect(key("preset", "the file of configs/ that the configuration started from", FIELD(preset))),
      required(key("seed", "of the weights, the order of the rows, the probes and the held-out rows", FIELD(seed))),

      key("data.target", "csv: the column to predict", FIELD(target)),
      key("data.kind", "csv: regression, binary or classification; empty: chosen by the target's type", FIELD(kind)),
      key("data.validation", "fraction of the training rows held out for validation", FIELD(validation)),
      key("data.split", "seed of the train/test split; -1: the run's seed", FIELD(split)),

      key("data.augment", "images: random crops and flips", FIELD(augment)),
      key("data.train_rows", "use only the first training rows; 0: all", FIELD(train_rows)),
      key("data.test_rows", "use only the first test rows; 0: all", FIELD(test_rows)),

      key("text.tokenizer", "gpt2, llama3 or bytes", FIELD(text.tokenizer)),
      key("text.corpus", "speeches: use that text instead of the task's own files", FIELD(text.corpus)),
      key("text.field", "JSON Lines: the key of a document's text", FIELD(text.field)),
      key("text.block", "tokens per row", FIELD(text.block)),
      key("text.test", "fraction held out for testing if a text has no official split", FIELD(text.test)),
      key("text.train_tokens", "largest number of training tokens; 0: all", FIELD(text.train_tokens)),
      key("text.test_tokens", "largest number of test tokens; 0: all", FIELD(text.test_tokens)),

      key("model.kind", "mlp, resnet, gpt2 or llama", FIELD(model.kind)),
      key("model.hidden", "mlp: widths of the hidden layers", FIELD(model.hidden)),
      key("model.blocks", "resnet: blocks of each stage", FIELD(model.blocks)),
      key("model.width", "resnet: of the first stage; gpt2, llama: of the hidden states", FIELD(model.width)),
      key("model.layers", "gpt2, llama: number of blocks", FIELD(model.layers)),
      key("model.heads", "gpt2, llama: attention heads", FIELD(model.heads)),
      key("model.key_heads", "llama: heads of keys and values", FIELD(model.key_heads)),
      key("model.inner", "llama: width of the feed-forward part", FIELD(model.inner)),
      key("model.context", "gpt2, llama: longest row in tokens; 0: text.block", FIELD(model.context)),
      key("model.dropout", "gpt2, llama: dropout rate in training", FIELD(model.dropout)),
      key("model.rotary_base", "llama: base of the rotary frequencies", FIELD(model.rotary_base)),
      key("model.rotary_factor", "llama: divides the lowest rotary frequencies; 1: unchanged", FIELD(model.rotary_factor)),
      no_effect(key("model.recompute", "save memory: recompute activations in the backward pass", FIELD(model.recompute))),
      key("model.chunk", "gpt2, llama: rows per chunk of head and loss; 0: automatic", FIELD(model.chunk)),

      length_key("train.epochs", "passes over the training rows", &RunConfig::epochs, &RunConfig::steps),
      length_key("train.steps", "optimizer steps, instead of epochs", &RunConfig::steps, &RunConfig::epochs),
      key("train.batch_size", "rows per step", FIELD(batch_size)),
      key("train.accumulate", "number of micro-batches that a step's rows are split into", FIELD(accumulate)),
      key("train.evaluate_every", "steps between evaluations; 0: at the end of every epoch", FIELD(evaluate_every)),
      key("train.threads", "number of threads; 0: chosen by the model's size and the machine", FIELD(threads)),
      key("train.init_from", "a file of weights to start from: safetensors (one file or shards) or llm.c's .bin", FIELD(init_from)),
      no_effect(key("train.low_memory", "update each weight during the backward pass; needs optimizer.non_finite = record", FIELD(optimizer.update_during_pull_back))),

      named_key("rate.schedule", "constant, linear, cosine or wsd", FIELD(rate.shape), rate_shape_from_name),
      key("rate.warmup", "number of first steps in which the rate rises to its value", FIELD(rate.warmup)),
      key("rate.decay", "wsd: fraction of the run over which the rate falls", FIELD(rate.decay)),
      key("rate.floor", "fraction of the rate at the end of the run", FIELD(rate.floor)),

      required(key("optimizer.name", "a name of `lehi list optimizers`", FIELD(optimizer.name))),
      required(key("optimizer.lr", "learning rate", FIELD(optimizer.group.lr))),
      key("optimizer.beta1", "decay of the momentum m", FIELD(optimizer.group.beta1)),
      key("optimizer.beta2", "decay of the accumulated curvature v", FIELD(optimizer.group.beta2)),
      key("optimizer.eps", "added to the scale that the step divides by", FIELD(optimizer.group.eps)),
      key("optimizer.weight_decay", "weight decay wd", FIELD(optimizer.group.weight_decay)),
      named_key("optimizer.decay", "decoupled (w -= lr wd w) or coupled (g += wd w)", FIELD(optimizer.recipe.decay), decay_from_name),
      key("optimizer.momentum", "momentum of sgd and rmsprop", FIELD(optimizer.group.momentum)),
      key("optimizer.dampening", "dampening of sgd", FIELD(optimizer.group.dampening)),
      key("optimizer.nesterov", "Nesterov momentum of sgd", FIELD(optimizer.group.nesterov)),
      key("optimizer.momentum_decay", "momentum decay of nadam", FIELD(optimizer.group.momentum_decay)),
      key("optimizer.rho", "sophia-g's clipping constant", FIELD(optimizer.group.rho)),
      key("optimizer.clip_norm", "largest global 2-norm of the gradient; 0: no clipping", FIELD(optimizer.clip_norm)),
      named_key("optimizer.non_finite", "throw (the run ends as diverged), skip or record", FIELD(optimizer.non_finite), non_finite_from_name),
      named_key("optimizer.probe", "a name of `lehi list probes`", FIELD(optimizer.recipe.probe), probe_from_name),
      key("optimizer.refresh_every", "steps from one probe to the next", FIELD(optimizer.recipe.schedule.every)),
      key("optimizer.dense", "number of first steps that all have a probe", FIELD(optimizer.recipe.schedule.dense)),
      key("optimizer.alternate", "every second refresh uses the gradient", FIELD(optimizer.recipe.schedule.alternate)),
      named_key("optimizer.accumulator", "how s^2 is accumulated into v", FIELD(optimizer.recipe.accumulator), accumulator_from_name),
      named_key("optimizer.mix", "none, sum or max of probe and gradient, or gradient", FIELD(optimizer.recipe.mix), mix_from_name),
      named_key("optimizer.rule", "how m and v become a step", FIELD(optimizer.recipe.rule), rule_from_name),
      named_key("optimizer.scale", "sqrt-n or mean", FIELD(optimizer.recipe.scale), scale_from_name),
      key("optimizer.doubling", "refreshes at steps 1, 2, 4, ... up to refresh_every, then every refresh_every steps", FIELD(optimizer.recipe.schedule.doubling)),
      named_key("optimizer.shape", "diagonal, kronecker or orthogonal: how the weights of a matrix are taken together", FIELD(optimizer.recipe.shape), shape_from_name),
      named_key("optimizer.factors", "kronecker: probe, gradient, both or random: what the factors are made from", FIELD(optimizer.recipe.kronecker.factors), factors_from_name),
      named_key("optimizer.sides", "kronecker: automatic, smaller or both: which sides of a matrix are turned", FIELD(optimizer.recipe.kronecker.sides), sides_from_name),
      key("optimizer.square_blocks", "kronecker: cut a matrix's longer side into blocks no longer than the other side", FIELD(optimizer.recipe.kronecker.square_blocks)),
      key("optimizer.cost", "kronecker: largest (m + n) / predictions at which automatic turns both sides", FIELD(optimizer.recipe.kronecker.cost)),
      key("optimizer.basis_every", "kronecker: steps from one basis made from the gradient to the next", FIELD(optimizer.recipe.kronecker.basis_every)),
      key("optimizer.step_factor", "kronecker: factor of the matrices' steps", FIELD(optimizer.recipe.kronecker.step_factor)),
      key("optimizer.beta3", "kronecker: decay of the factors", FIELD(optimizer.group.beta3)),
      key("optimizer.largest_side", "longer sides of a matrix are not turned", FIELD(optimizer.shapes.largest_side)),
      key("optimizer.diagonal_names", "matrices with one of these as their name, or as a word of it, stay diagonal", FIELD(optimizer.shapes.diagonal_names)),

      no_effect(key("checkpoint.every", "steps between checkpoints; 0: at evaluations", FIELD(checkpoint_every))),
      no_effect(key("checkpoint.keep", "number of newest checkpoints to keep; 0: write none", FIELD(keep))),

      key("distributed.compress", "none; bfloat16: send gradients between ranks with half the bytes", FIELD(distributed.compress)),
      no_effect(key("distributed.shard_optimizer", "each rank keeps only its own part of the optimizer's state", FIELD(distributed.shard_optimizer))),
      no_effect(key("distributed.bucket_mb", "megabytes of gradients per sum over the ranks", FIELD(distributed.bucket_mb))),

      no_effect(key("judge.metric", "the metric of metrics.jsonl by which runs are compared", FIELD(judge.metric))),
      no_effect(key("judge.window", "number of last evaluations that a run's score is computed from", FIELD(judge.window))),
      no_effect(key("judge.rates", "learning rates that a sweep tries", FIELD(judge.rates))),
      no_effect(key("judge.smoothing", "weight of the new value in a figure's moving average", FIELD(judge.smoothing))),
      // The last key that every version writes: a file without it is truncated.
      required(no_effect(key("judge.cut", "number of first evaluations that a figure omits", FIELD(judge.cut)))),
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
  throw_invalid_argument("there is no key '{}'{}; `lehi train --help-config` lists them", name,
                         base::suggestion(name, known));
}

}  // namespace lehi::train
