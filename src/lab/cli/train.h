// `lehi train`: one run of one optimizer on one task, with its record.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cli/command.h"
#include "train/config.h"

namespace lehi::cli {

enum class ProgressStyle { people, lines, none };

struct TrainConfig {
  std::optional<train::RunConfig> run;  ///< none: what the directory holds is resumed
  std::string out;
  std::string data_dir;
  bool resume = false;
  bool json = false;
  ProgressStyle progress = ProgressStyle::people;
  Arguments arguments;  ///< as given, for the record
  int processes = 1;    ///< --nproc
  std::string backend = "gloo";
  double rank_timeout = 60.0;  ///< seconds

  /// What runs a rank of --nproc; tests put another program here.
  std::string program = "/proc/self/exe";
};

TrainConfig parse_train(const Arguments& arguments);

/// 0 done, 1 when a rank is lost (the process then ends at once), 4 diverged, 130 or 143 stopped by a signal after a
/// checkpoint.
int run_train(const TrainConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
