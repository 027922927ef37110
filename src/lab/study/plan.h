// Plans a study: tasks x optimizers x rates x seeds, each run with its complete configuration and the name of its
// directory. Reads no file except the user's --config file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"

namespace lehi::study {

/// The learning rates of a request that lists none.
enum class Rates {
  preset,  ///< each optimizer's own rate in the task's preset
  grid,    ///< judge.rates of the task's preset
};

/// An optimizer name that exists in studies only: sgd with momentum at the rate a / sqrt(eps), which lehi with rate a
/// approaches where eps outweighs the curvature. Where it does as well as lehi, the curvature made no difference.
inline constexpr std::string_view kMomentumControl = "momentum-control";

/// The place of a request in a study file, for error messages; an empty `file` stands for the command line.
struct Origin {
  std::string file;
  std::int64_t line = 0;
};

struct PlanRequest {
  std::vector<std::string> tasks;
  std::string preset;                   ///< "" for "paper"
  std::filesystem::path file;           ///< --config, or empty
  std::vector<std::string> optimizers;  ///< "lehi", "lehi-gn[mix=max]", ...
  std::vector<double> rates;            ///< empty: those of `default_rates`
  Rates default_rates = Rates::preset;  ///< an optimizer with a rate of its own, as sgd[lr=0.1], always keeps it
  std::vector<std::uint64_t> seeds;
  std::vector<train::Setting> settings;  ///< --set and flags; an optimizer's own settings are applied after them
  /// Rates for single optimizers instead of `rates`, by their entry in `optimizers`. Those of momentum-control are
  /// divided by sqrt(eps) as well; without an entry it uses lehi's.
  std::map<std::string, std::vector<double>> rates_of = {};
  std::size_t best = 0;  ///< 0: every rate with every seed; otherwise two phases, see SecondPhase
  Origin origin = {};
};

/// The second phase of the paper's protocol: the first phase runs every rate with the first seed; the second runs the
/// `best` rates of each optimizer with the other seeds. The results of the first phase determine which rates these are.
struct SecondPhase {
  std::string task;  ///< as in the runs' configurations
  std::size_t best = 1;
  std::vector<std::uint64_t> seeds;

  bool operator==(const SecondPhase&) const = default;
};

struct PlannedRun {
  std::string directory;  ///< name inside the study's directory: safe as a file name, unique in the plan
  std::string variant;    ///< the optimizer as written in the request
  train::RunConfig config;
};

struct StudyPlan {
  std::vector<PlannedRun> runs;            ///< the first phase, or the whole grid
  std::vector<SecondPhase> second_phases;  ///< one per task that has a second phase
};

/// Plans the runs in the order in which they start: seeds outermost, then tasks, rates and optimizers, so that a study
/// stopped early has run all optimizers equally often. A configuration that asks for all threads gets one thread: the
/// runs of a study share the machine, and their results must not depend on how many run at once.
/// Throws std::invalid_argument (train::ConfigError for a study file) for invalid or repeated entries.
StudyPlan make_study_plan(const std::vector<PlanRequest>& requests);

/// All runs that the second phase may contain, in the order in which they would start. Depends on the first phase's
/// runs only, so that a study can be continued from its directory.
std::vector<PlannedRun> second_phase_candidates(const std::vector<PlannedRun>& first,
                                                const std::vector<SecondPhase>& second_phases);

}  // namespace lehi::study
