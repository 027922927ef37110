// `lehi train`: trains a model on a task with one optimizer and records the run.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "cli/command.h"
#include "train/config.h"

namespace lehi::cli {

enum class ProgressStyle : std::uint8_t { terminal, lines, none };

struct TrainConfig {
  std::optional<train::RunConfig> run;  ///< empty: resume with the configuration in `out`
  std::string out;
  std::string data_dir;
  bool resume = false;
  bool json = false;
  ProgressStyle progress = ProgressStyle::terminal;
  Arguments arguments;  ///< as given; recorded in run.json
  int processes = 1;    ///< --nproc
  std::string backend = "gloo";
  double rank_timeout = 60.0;  ///< seconds

  /// The program that --nproc starts for each rank. Tests replace it.
  std::string program = "/proc/self/exe";
};

TrainConfig parse_train(const Arguments& arguments);

/// Returns 0 when the run is done, 4 when it diverged, 130 or 143 when a signal stopped it after a checkpoint. When a
/// rank is lost, the process exits with 1.
int run_train(const TrainConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
