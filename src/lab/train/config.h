// The configuration of a run: what it trains, how, and with which optimizer. It has everything that decides a run's
// result: equal configurations give equal runs.
//
// It is made of layers; a later layer overrides an earlier one: the library's optimizer preset, the task's preset (a
// TOML file of configs/, built into the program), the user's --config file, environment variables (LEHI_TRAIN_EPOCHS
// for train.epochs), --set key=value, and the command's own flags. In a file, [optimizer] applies to any optimizer,
// [optimizers.NAME] to that one only.
//
// config.cpp combines the layers (config_layers.h), config_file.cpp reads and writes config.toml, config_check.cpp
// checks the values, config_keys.h is the table of keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lehi/options.h"
#include "runtime/one_line.h"
#include "train/rate.h"

namespace lehi::train {

/// A configuration file that can't be used (exit code 3). The message is one sentence.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(const std::string& text) : std::runtime_error(one_line(text)) {}
};

/// How runs are compared and drawn.
struct JudgeConfig {
  std::string metric = "test_loss";  ///< a number of metrics.jsonl; the larger the better if it ends in "accuracy"
  std::int64_t window = 1;           ///< last evaluations of a run that its score is computed from
  std::vector<double> rates;         ///< learning rates that a sweep tries
  double smoothing = 0.3;            ///< weight of the new value in a figure's moving average
  std::int64_t cut = 0;              ///< number of first evaluations that a figure omits
};

/// The network. Each kind uses some of these values.
struct ModelConfig {
  std::string kind = "mlp";                         ///< mlp, resnet, gpt2 or llama
  std::vector<std::int64_t> hidden;                 ///< mlp: widths of the hidden layers
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  ///< resnet: number of blocks of each stage
  std::int64_t width = 0;                           ///< resnet: of the first stage; gpt2, llama: of the hidden states
  std::int64_t layers = 0;                          ///< gpt2, llama
  std::int64_t heads = 0;                           ///< gpt2, llama
  std::int64_t key_heads = 0;                       ///< llama
  std::int64_t inner = 0;                           ///< llama: width of the feed-forward part
  std::int64_t context = 0;                         ///< gpt2, llama: longest row in tokens; 0: text.block
  double dropout = 0.0;                             ///< gpt2, llama
  double rotary_base = 500'000.0;                   ///< llama: base of the rotary frequencies
  double rotary_factor = 32.0;                      ///< llama: divides the lowest rotary frequencies; 1: unchanged
  bool recompute = false;                           ///< saves memory: recomputes activations in the backward pass
  std::int64_t chunk = 0;                           ///< gpt2, llama: rows per chunk of head and loss; 0: automatic
};

/// The text of a language model's task.
struct TextConfig {
  std::string tokenizer = "gpt2";  ///< gpt2, llama3 or bytes
  std::string corpus;              ///< "speeches": use that text; "": the task's own files
  std::string field = "text";      ///< of JSON Lines: the key of a document's text
  std::int64_t block = 128;        ///< tokens per row
  double test = 0.1;               ///< fraction held out for testing if the text has no official split
  std::int64_t train_tokens = 0;   ///< upper limit; 0: all
  std::int64_t test_tokens = 0;
};

/// Settings for several ranks. Their number is decided by the launcher: any number gives the same run, up to rounding.
struct DistributedConfig {
  std::string compress = "none";  ///< or bfloat16
  bool shard_optimizer = false;
  double bucket_mb = 25.0;
};

struct RunConfig {
  std::string task;              ///< "mnist", "csv:/absolute/FILE", "text:/absolute/FILE", ...
  std::string preset = "paper";  ///< which file of configs/ it started from
  std::uint64_t seed = 0;        ///< of the weights, the order of the rows, the probes and the held-out rows

  // [data]
  std::string target;       ///< csv: the column to predict
  std::string kind;         ///< csv: "regression", "binary", "classification"; "": by the target's type
  double validation = 0.0;  ///< fraction of the training rows held out for validation
  std::int64_t split = -1;  ///< seed of the train/test split if the task has no official one; -1: the run's seed

  bool augment = false;         ///< images: random crops and flips
  std::int64_t train_rows = 0;  ///< use only the first rows; 0: all
  std::int64_t test_rows = 0;

  // [text]
  TextConfig text;

  // [model]
  ModelConfig model;

  // [train]
  std::int64_t epochs = 0;          ///< passes over the training rows
  std::int64_t steps = 0;           ///< optimizer steps; exactly one of epochs and steps is not 0
  std::int64_t batch_size = 128;    ///< rows per step
  std::int64_t accumulate = 1;      ///< micro-batches per step
  std::int64_t evaluate_every = 0;  ///< steps; 0: at the end of every epoch
  std::int64_t threads = 0;         ///< 0: by model size and machine; affects the rounding of large sums
  std::string init_from;            ///< a file of weights to start from, instead of random ones

  // [rate]
  RateSchedule rate;

  // [optimizer]
  Options optimizer;

  // [checkpoint]: does not affect the result, so a resumed run may change it
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at every evaluation, but not more often than every 5 seconds
  std::int64_t keep = 2;              ///< number of newest checkpoints to keep; 0: write none

  // [distributed]
  DistributedConfig distributed;

  // [judge]
  JudgeConfig judge;
};

/// One setting and its source, e.g. {"optimizer.lr", "3e-3", "--lr"}. The value is TOML; anything that is not valid
/// TOML is a string.
struct Setting {
  std::string key;
  std::string value;
  std::string source;
};

struct ConfigRequest {
  std::string task;               ///< as on the command line
  std::string preset;             ///< "" for "paper"
  std::string optimizer;          ///< "": the one that the layers choose, by default lehi
  std::filesystem::path file;     ///< --config, or empty
  std::vector<Setting> settings;  ///< --set and flags, in order; later ones override
};

/// Combines all layers and checks the result. Throws std::invalid_argument for a mistake on the command line or in the
/// environment, ConfigError for one in a file.
RunConfig resolve(const ConfigRequest& request);

/// Parses "key=value" of --set. Throws std::invalid_argument for an unknown key.
Setting parse_setting(std::string_view text);

/// config.toml: every key with its value; from_toml(to_toml(c)) is c. A missing key, in the file of an older version,
/// has its default; a few keys are required (task, seed, optimizer.name, optimizer.lr, judge.cut). An unknown key is an
/// error.
std::string to_toml(const RunConfig& config);
RunConfig from_toml(std::string_view text, const std::string& where);
RunConfig read_config(const std::filesystem::path& path);

/// The first key that affects the result and differs, as "optimizer.lr is 0.001 there and 0.003 here"; "" if there is
/// none.
std::string difference(const RunConfig& there, const RunConfig& here);

/// The longest row of a language model in tokens: model.context, or text.block if that is 0.
std::int64_t context_of(const RunConfig& config);

/// Throws std::invalid_argument for the first value that is out of range.
void check(const RunConfig& config);

/// Every key with its description, for help texts.
std::vector<std::pair<std::string, std::string>> config_keys();

/// An optimizer as lists of optimizers name it: "lehi", or "lehi-gn[mix=max,refresh_every=1]" with changed keys of
/// [optimizer].
struct OptimizerChoice {
  std::string text;               ///< as given; names the variant in tables and directories
  std::string name;               ///< of the preset
  std::vector<Setting> settings;  ///< "optimizer.mix" = "max", ...
};
OptimizerChoice parse_optimizer_choice(std::string_view text);

}  // namespace lehi::train
