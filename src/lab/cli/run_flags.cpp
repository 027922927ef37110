#include "cli/run_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/arguments.h"
#include "train/run_record.h"
#include "train/weight_settings.h"

namespace lehi::cli {
namespace {

std::string about_key(const std::string& key) {
  for (const auto& [name, about] : train::config_keys()) {
    if (name == key) return about;
  }
  throw std::logic_error("a flag stands for a key that does not exist: " + key);
}

}  // namespace

void add_key_flag(CLI::App& app, RunFlags& flags, const std::string& flag, const std::string& key,
                  const std::string& group) {
  app.add_option_function<std::string>(
         flag,
         [&flags, flag, key](const std::string& value) {
           flags.own.push_back({key, value, flag});
         },
         about_key(key))
      ->group(group);
}

void add_task_flags(CLI::App& app, RunFlags& flags) {
  const std::string group = "Run";
  app.add_option("--preset", flags.preset, "paper: the paper's model and length (default); small: a quick trial")
      ->group(group);
  app.add_option("--config", flags.file, "a TOML file whose keys win over the preset's")->group(group);
  app.add_option("--set", flags.set, "key=value, wins over files; keys: --help-config; may be repeated")
      ->group(group)
      ->take_all()
      ->expected(1);
  add_key_flag(app, flags, "--threads", "train.threads", group);
  add_key_flag(app, flags, "--validation", "data.validation", group);
  add_key_flag(app, flags, "--target", "data.target", group);
  add_key_flag(app, flags, "--kind", "data.kind", group);
  app.add_option("--data-dir", flags.data_dir,
                 "one folder a task; default: $LEHI_DATA_DIR, else $XDG_DATA_HOME/lehi, else ~/.local/share/lehi")
      ->group(group);
  app.add_flag_callback(
         "--help-config", [] { throw HelpRequest(config_help()); }, "list every key of the configuration")
      ->group(group);
}

void add_run_flags(CLI::App& app, RunFlags& flags) {
  const std::string group = "Run";
  add_task_flags(app, flags);
  add_key_flag(app, flags, "--epochs", "train.epochs", group);
  add_key_flag(app, flags, "--steps", "train.steps", group);
  add_key_flag(app, flags, "--batch-size", "train.batch_size", group);
  add_key_flag(app, flags, "--init-from", "train.init_from", group);
  app.add_flag_callback(
         "--low-memory",
         [&flags] {
           flags.own.push_back({"train.low_memory", "true", "--low-memory"});
         },
         "update each weight during the pull-back: no full copy of the gradient exists; not with --clip-norm, "
         "train.accumulate or optimizer.non_finite = throw or skip")
      ->group(group);
}

train::ConfigRequest config_request(const RunFlags& flags) {
  train::ConfigRequest request;
  request.task = flags.task;
  request.preset = flags.preset;
  request.file = flags.file;
  // Weights that are given tell what model they are of.
  for (const auto& own : flags.own) {
    if (own.key == "train.init_from") request.settings = train::weight_settings(own.value);
  }
  for (const auto& text : flags.set) request.settings.push_back(train::parse_setting(text));
  request.settings.insert(request.settings.end(), flags.own.begin(), flags.own.end());
  return request;
}

std::string config_help() {
  std::string text =
      "Every key of a run's configuration. A TOML file (--config) has them in tables, [train] epochs = 5; --set takes\n"
      "train.epochs=5; the environment LEHI_TRAIN_EPOCHS=5. [optimizers.NAME] of a file holds for that optimizer "
      "only.\n"
      "Flags win over --set, that over the environment, that over --config, that over the preset.\n\n";
  for (const auto& [name, about] : train::config_keys()) text += fmt::format("  {:<26} {}\n", name, about);
  return text;
}

std::string default_out(const std::string& what) {
  std::string time = train::utc_now();
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  const auto name = fmt::format("runs/{}-{}", what, time);
  std::string free = name;
  for (int i = 2; std::filesystem::exists(free); ++i) free = fmt::format("{}-{}", name, i);
  return free;
}

}  // namespace lehi::cli
