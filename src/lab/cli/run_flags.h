// The flags that set a run's configuration, for every command that trains or evaluates.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"

namespace lehi::cli {

struct RunFlags {
  std::string task;
  std::string preset;
  std::string file;                 ///< --config
  std::vector<std::string> set;     ///< --set key=value
  std::vector<train::Setting> own;  ///< from flags that set one key, such as --epochs
  std::string data_dir;
};

/// Description of a TASK argument.
inline constexpr std::string_view task_help =
    "a task from `lehi list tasks`, csv:FILE (with --target COLUMN) or text:FILE";

/// Description of --data-dir.
inline constexpr const char* data_dir_help =
    "directory of the data, with one subdirectory per task [default: $LEHI_DATA_DIR, else $XDG_DATA_HOME/lehi, else "
    "~/.local/share/lehi]";

/// Titles of groups of flags in the help text. A flag that sets a key has no default of its own.
inline constexpr const char* run_group = "Run (defaults: those of the preset)";
inline constexpr const char* run_optimizer_group = "Optimizer (defaults: those of the preset)";

/// The flags for task and model: --preset, --config, --set, --threads, --validation, --target, --kind, --data-dir.
void add_task_flags(CLI::App& app, RunFlags& flags);

/// The task flags, and those for training: --epochs, --steps, --batch-size, --init-from, --low-memory.
void add_run_flags(CLI::App& app, RunFlags& flags);

/// A flag that sets a key of the configuration, whose description it takes.
struct KeyFlag {
  std::string flag;         ///< "--epochs"
  std::string placeholder;  ///< "N"
  std::string key;          ///< "train.epochs"
};
void add_key_flag(CLI::App& app, RunFlags& flags, const std::string& group, const KeyFlag& key_flag);

/// The configuration to resolve. Flags override --set.
train::ConfigRequest config_request(const RunFlags& flags);

/// The default of --out: runs/WHAT-20240506T070809Z, with a number appended if that exists.
std::string default_out(const std::string& what);

/// The text of --help-config: all keys with their descriptions.
std::string config_help();

}  // namespace lehi::cli
