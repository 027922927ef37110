// Readers of TOML: configurations and study files.
#include "files/files.h"
#include "harness.h"
#include "study/study_toml.h"
#include "targets.h"
#include "train/config.h"

namespace lehi::fuzz {

using train::ConfigError;

namespace {

void check_config(const train::RunConfig& config) {
  const auto text = train::to_toml(config);
  const auto again = accepted<ConfigError>([&] { return train::from_toml(text, "config.toml"); });
  require(again.has_value(), "a configuration that was accepted is rejected after writing it");
  require(train::to_toml(*again) == text && train::difference(config, *again).empty(),
          "a configuration changes when written and read again");
}

}  // namespace

void fuzz_config(std::string_view input) {
  const train::ConfigRequest request{
      .task = "mnist", .preset = "", .optimizer = "", .file = input_file("own.toml", input), .settings = {}};
  const auto config = accepted<ConfigError, FileError, std::invalid_argument>([&] { return train::resolve(request); });
  if (config) check_config(*config);
}

void fuzz_run_config(std::string_view input) {
  const auto config = accepted<ConfigError>([&] { return train::from_toml(input, "config.toml"); });
  if (config) check_config(*config);
}

void fuzz_study_file(std::string_view input) {
  const auto requests = accepted<ConfigError>([&] { return study::parse_study_file(input, "study.toml"); });
  if (!requests) return;
  require(!requests->empty(), "a study file without a task was accepted");
  for (const auto& request : *requests) {
    require(request.tasks.size() == 1 && !request.optimizers.empty() && !request.seeds.empty(), "a request is empty");
  }
}

}  // namespace lehi::fuzz
