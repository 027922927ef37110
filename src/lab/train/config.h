// The configuration of a run: what it trains, how, and with which optimizer. Everything that decides a run's result is
// here and nothing else is, so that equal configurations give equal runs.
//
// It is made of layers, the later ones winning: the library's optimizer preset, the task's preset (a TOML file of
// configs/, built into the program), the user's --config file, environment variables (LEHI_TRAIN_EPOCHS for
// train.epochs), --set key=value, and the command's own flags. A file's [optimizer] holds for any optimizer, its
// [optimizers.NAME] for that one only. The keys are in one table, in config.cpp, which reads, writes and compares them.
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

/// A configuration file or value that can't be used: exit code 3 where it came from a file.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(const std::string& text) : std::runtime_error(one_line(text)) {}
};

/// What a run is judged by.
struct JudgeConfig {
  std::string metric = "test_loss";  ///< a number of metrics.jsonl; the larger the better if it ends in "accuracy"
  std::int64_t window = 1;           ///< evaluations at the end of a run that its score looks at
  std::vector<double> rates;         ///< learning rates that a sweep tries
  double smoothing = 0.3;            ///< weight of the new value in a figure's moving average
  std::int64_t cut = 0;              ///< first evaluations that a figure leaves out
};

/// The network. Each kind reads the numbers that it has a use for.
struct ModelConfig {
  std::string kind = "mlp";                         ///< mlp, resnet, gpt2 or llama
  std::vector<std::int64_t> hidden;                 ///< mlp: widths of the hidden layers
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  ///< resnet: of each stage
  std::int64_t width = 0;                           ///< resnet: of the first stage; gpt2, llama: of the hidden values
  std::int64_t layers = 0;                          ///< gpt2, llama
  std::int64_t heads = 0;                           ///< gpt2, llama
  std::int64_t key_heads = 0;                       ///< llama
  std::int64_t inner = 0;                           ///< llama: width of the feed-forward part
  std::int64_t context = 0;                         ///< gpt2, llama: longest row that the model can read
  double dropout = 0.0;                             ///< gpt2, llama
  double rotary_base = 500'000.0;                   ///< llama: of the positions' frequencies
  double rotary_factor = 32.0;                      ///< llama: slows down long waves; 1: none
  bool recompute = false;                           ///< saves memory: activations are computed again in the pull-back
  std::int64_t chunk = 0;                           ///< gpt2, llama: rows of the head and its loss at once; 0: by size
};

/// The text of a language model's task.
struct TextConfig {
  std::string tokenizer = "gpt2";  ///< gpt2, llama3 or bytes
  std::string corpus;              ///< "speeches" instead of the task's own files; "": those
  std::string field = "text";      ///< of JSON Lines
  std::int64_t block = 128;        ///< tokens of a row
  double test = 0.1;               ///< part held out for testing where the text has no official parts
  std::int64_t train_tokens = 0;   ///< at most so many; 0: all
  std::int64_t test_tokens = 0;
};

/// Several ranks, if a launcher starts them: how many there are is not configured, since any number gives the same run,
/// to rounding.
struct DistributedConfig {
  std::string compress = "none";  ///< or bfloat16
  bool shard_optimizer = false;
  double bucket_mb = 25.0;
};

struct RunConfig {
  std::string task;              ///< "mnist", "csv:/absolute/FILE", "text:/absolute/FILE", ...
  std::string preset = "paper";  ///< which file of configs/ it started from
  std::uint64_t seed = 0;        ///< of the weights, the order of the rows, the probes, and what is held out

  // [data]
  std::string target;       ///< csv: the column to predict
  std::string kind;         ///< csv: "regression", "binary", "classification", or "" to go by the target's type
  double validation = 0.0;  ///< part of the training rows held out for validation
  std::int64_t split = -1;  ///< seed of the train/test split where the task has no official one; -1: the run's seed

  bool augment = false;         ///< images: random crops and flips
  std::int64_t train_rows = 0;  ///< the first rows only; 0: all
  std::int64_t test_rows = 0;

  // [text]
  TextConfig text;

  // [model]
  ModelConfig model;

  // [train]
  std::int64_t epochs = 0;          ///< passes over the training rows, or
  std::int64_t steps = 0;           ///< optimizer steps; exactly one of the two is not 0
  std::int64_t batch_size = 128;    ///< rows of a step
  std::int64_t accumulate = 1;      ///< micro-batches that a step's rows are split into
  std::int64_t evaluate_every = 0;  ///< steps; 0: at the end of every epoch
  std::int64_t threads = 0;         ///< 0: as many as the machine gives; decides the rounding of large sums
  std::string init_from;            ///< a file of weights to start from, instead of random ones

  // [rate]
  RateSchedule rate;

  // [optimizer]
  Options optimizer;

  // [checkpoint]; does not change the result, so a resumed run may change it
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at every evaluation, but not more often than every 5 seconds
  std::int64_t keep = 2;              ///< newest checkpoints that stay; 0: none are written

  // [distributed]
  DistributedConfig distributed;

  // [judge]
  JudgeConfig judge;
};

/// One setting and where it came from, e.g. {"optimizer.lr", "3e-3", "--lr"}. The value is TOML; a word that is none is
/// taken as text.
struct Setting {
  std::string key;
  std::string value;
  std::string source;
};

struct ConfigRequest {
  std::string task;               ///< as on the command line
  std::string preset;             ///< "" for "paper"
  std::string optimizer;          ///< "" for the layers' choice, or lehi
  std::filesystem::path file;     ///< --config, or empty
  std::vector<Setting> settings;  ///< --set and flags, in order; the later ones win
};

/// The whole of it, checked. Throws std::invalid_argument for what was wrong on the command line and ConfigError for
/// what was wrong in a file.
RunConfig resolve(const ConfigRequest& request);

/// "key=value" of --set; std::invalid_argument when it is none.
Setting parse_setting(std::string_view text);

/// config.toml: every key with its value; from_toml(to_toml(c)) is c. A key that an older version's file does not have
/// takes its default (but for the few that make a run: task, seed, optimizer, rate); one that this version does not
/// know is refused.
std::string to_toml(const RunConfig& config);
RunConfig from_toml(std::string_view text, const std::string& where);
RunConfig read_config(const std::filesystem::path& path);

/// The first key that decides the result and differs, as "optimizer.lr is 0.001 there and 0.003 here"; "" when none
/// does.
std::string difference(const RunConfig& there, const RunConfig& here);

/// The longest row that a language model reads: model.context, or else what it is trained on.
std::int64_t context_of(const RunConfig& config);

/// Throws std::invalid_argument naming the first value that is out of range.
void check(const RunConfig& config);

/// Names of the tasks that have presets (not csv and text, which are followed by a file), and of a task's presets.
std::vector<std::string> task_names();
std::vector<std::string> preset_names(std::string_view task);

/// Every key with the sentence that explains it, for help texts and docs.
std::vector<std::pair<std::string, std::string>> config_keys();

/// "lehi", or "lehi-gn[mix=max,refresh_every=1]": an optimizer with changed keys of [optimizer], as lists of optimizers
/// write it.
struct OptimizerChoice {
  std::string text;               ///< as given: the variant's name in tables and folders
  std::string name;               ///< the preset's
  std::vector<Setting> settings;  ///< "optimizer.mix" = "max", ...
};
OptimizerChoice parse_optimizer_choice(std::string_view text);

}  // namespace lehi::train
