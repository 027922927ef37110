// The flags that choose a run's configuration, for every command that trains.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/config.h"

namespace lehi::cli {

struct RunFlags {
  std::string task;
  std::string preset;
  std::string file;                 ///< --config
  std::vector<std::string> set;     ///< --set key=value
  std::vector<train::Setting> own;  ///< from flags that stand for a key, such as --epochs
  std::string data_dir;
};

/// What chooses task and model: --preset, --config, --set, --threads, --target, --kind, --data-dir.
void add_task_flags(CLI::App& app, RunFlags& flags);

/// These, and how long and on how much a run trains: --epochs, --steps, --batch-size, --init-from, --low-memory, ...
void add_run_flags(CLI::App& app, RunFlags& flags);

/// A flag that stands for a key of the configuration: --epochs for train.epochs.
void add_key_flag(CLI::App& app, RunFlags& flags, const std::string& flag, const std::string& key,
                  const std::string& group);

/// What to resolve: the flags' own settings after those of --set.
train::ConfigRequest config_request(const RunFlags& flags);

/// Where results go without --out: runs/WHAT-20240506T070809Z, with a number after it where that exists.
std::string default_out(const std::string& what);

/// The table of keys for --help-config.
std::string config_help();

}  // namespace lehi::cli
