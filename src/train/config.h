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
#include "train/rate.h"

namespace lehi::train {

/// A configuration file or value that can't be used: exit code 3 where it came from a file.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a run is judged by.
struct JudgeConfig {
  std::string metric = "test_loss";  ///< a number of metrics.jsonl; the larger the better if it ends in "accuracy"
  std::int64_t window = 1;           ///< evaluations at the end of a run that its score looks at
  std::vector<double> rates;         ///< learning rates that a sweep tries
  double smoothing = 0.3;            ///< weight of the new value in a figure's moving average
  std::int64_t cut = 0;              ///< first evaluations that a figure leaves out
};

struct RunConfig {
  std::string task;              ///< "mnist", "csv:/absolute/FILE", ...
  std::string preset = "paper";  ///< which file of configs/ it started from
  std::uint64_t seed = 0;        ///< of the weights, the order of the rows, the probes, and what is held out

  // [data]
  std::string target;       ///< csv: the column to predict
  std::string kind;         ///< csv: "regression", "binary", "classification", or "" to go by the target's type
  double validation = 0.0;  ///< part of the training rows held out for validation
  std::int64_t split = -1;  ///< seed of the train/test split where the task has no official one; -1: the run's seed

  // [model]
  std::vector<std::int64_t> hidden;  ///< widths of the MLP's hidden layers

  // [train]
  std::int64_t epochs = 0;          ///< passes over the training rows, or
  std::int64_t steps = 0;           ///< optimizer steps; exactly one of the two is not 0
  std::int64_t batch_size = 128;    ///< rows of a step
  std::int64_t accumulate = 1;      ///< micro-batches that a step's rows are split into
  std::int64_t evaluate_every = 0;  ///< steps; 0: at the end of every epoch
  std::int64_t threads = 0;         ///< 0: as many as the machine gives; decides the rounding of large sums

  // [rate]
  RateSchedule rate;

  // [optimizer]
  Options optimizer;

  // [checkpoint]; does not change the result, so a resumed run may change it
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at every evaluation, but not more often than every 5 seconds
  std::int64_t keep = 2;              ///< newest checkpoints that stay

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

/// config.toml: every key with its value; from_toml(to_toml(c)) is c.
std::string to_toml(const RunConfig& config);
RunConfig from_toml(std::string_view text, const std::string& where);
RunConfig read_config(const std::filesystem::path& path);

/// The first key that decides the result and differs, as "optimizer.lr is 0.001 there and 0.003 here"; "" when none
/// does.
std::string difference(const RunConfig& there, const RunConfig& here);

/// Throws std::invalid_argument naming the first value that is out of range.
void check(const RunConfig& config);

/// Names of the tasks that have presets (not the csv one), and of a task's presets.
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
