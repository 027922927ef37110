#include "cli/run_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/arguments.h"
#include "train/run_record.h"
#include "train/weight_settings.h"

namespace lehi::cli {
namespace {

std::string description_of(const std::string& key) {
  for (const auto& [name, about] : train::config_keys()) {
    if (name == key) return about;
  }
  throw std::logic_error("a flag sets an unknown key: " + key);
}

}  // namespace

void add_key_flag(CLI::App& app, RunFlags& flags, const std::string& group, const KeyFlag& key_flag) {
  app.add_option_function<std::string>(
         key_flag.flag,
         [&flags, key_flag](const std::string& value) {
           flags.own.push_back({key_flag.key, value, key_flag.flag});
         },
         description_of(key_flag.key))
      ->type_name(key_flag.placeholder)
      ->group(group);
}

void add_task_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("--preset", flags.preset,
                 "paper (the paper's model and length) or small (a quick trial) [default: paper]")
      ->type_name("NAME")
      ->group(run_group);
  app.add_option("--config", flags.file, "a TOML file of keys; overrides the preset")
      ->type_name("FILE")
      ->group(run_group);
  app.add_option("--set", flags.set,
                 "set a key of the configuration; overrides --config; may be repeated; --help-config lists the keys")
      ->type_name("KEY=VALUE")
      ->group(run_group)
      ->take_all()
      ->expected(1);
  const std::vector<KeyFlag> key_flags = {{"--threads", "N", "train.threads"},
                                          {"--validation", "PART", "data.validation"},
                                          {"--target", "COLUMN", "data.target"},
                                          {"--kind", "KIND", "data.kind"}};
  for (const auto& key_flag : key_flags) add_key_flag(app, flags, run_group, key_flag);
  app.add_option("--data-dir", flags.data_dir, data_dir_help)->type_name("DIR")->group(run_group);
  app.add_flag_callback(
         "--help-config", [] { throw HelpRequest(config_help()); }, "print all keys of the configuration and exit")
      ->group(run_group);
}

void add_run_flags(CLI::App& app, RunFlags& flags) {
  add_task_flags(app, flags);
  const std::vector<KeyFlag> key_flags = {{"--epochs", "N", "train.epochs"},
                                          {"--steps", "N", "train.steps"},
                                          {"--batch-size", "N", "train.batch_size"},
                                          {"--init-from", "PATH", "train.init_from"}};
  for (const auto& key_flag : key_flags) add_key_flag(app, flags, run_group, key_flag);
  app.add_flag_callback(
         "--low-memory",
         [&flags] {
           flags.own.push_back({"train.low_memory", "true", "--low-memory"});
         },
         "update each weight during the backward pass, without a full copy of the gradient; not with --clip-norm, "
         "train.accumulate or optimizer.non_finite = throw or skip")
      ->group(run_group);
}

train::ConfigRequest config_request(const RunFlags& flags) {
  train::ConfigRequest request;
  request.task = flags.task;
  request.preset = flags.preset;
  request.file = flags.file;
  // The weights' file determines the model.
  for (const auto& own : flags.own) {
    if (own.key == "train.init_from") request.settings = train::weight_settings(own.value);
  }
  for (const auto& setting : flags.set) request.settings.push_back(train::parse_setting(setting));
  request.settings.insert(request.settings.end(), flags.own.begin(), flags.own.end());
  return request;
}

std::string config_help() {
  std::string text =
      "The keys of a run's configuration. Set a key by, in order of precedence:\n"
      "  --epochs 5               a flag, where there is one\n"
      "  --set train.epochs=5     any key\n"
      "  LEHI_TRAIN_EPOCHS=5      an environment variable\n"
      "  --config FILE            a TOML file: [train] epochs = 5; [optimizers.NAME] applies to that optimizer only\n"
      "  --preset NAME            a file of configs/\n"
      "\n"
      "Keys:\n";
  for (const auto& [name, about] : train::config_keys()) text += fmt::format("  {:<27} {}\n", name, about);
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
