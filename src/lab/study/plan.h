// Which runs a study consists of: tasks x optimizers x rates x seeds, each with its whole configuration and the name of
// its directory. Pure: nothing here touches the disk but the user's --config file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"

namespace lehi::study {

/// Where the learning rates of a plan come from when the request lists none.
enum class Rates {
  preset,  ///< every optimizer's own, of the task's preset
  grid,    ///< judge.rates of the task's preset
};

/// An optimizer name of studies only: plain momentum (sgd) at the rate a / sqrt(eps) that lehi with rate a comes to
/// where eps outweighs the curvature. Where it does as well as lehi, the curvature did not matter.
inline constexpr std::string_view kMomentumControl = "momentum-control";

/// Where a request was read, for messages about it; empty: the command line.
struct Origin {
  std::string file;
  std::int64_t line = 0;
};

struct PlanRequest {
  std::vector<std::string> tasks;
  std::string preset;                   ///< "" for "paper"
  std::filesystem::path file;           ///< --config, or empty
  std::vector<std::string> optimizers;  ///< "lehi", "lehi-gn[mix=max]", ...
  std::vector<double> rates;            ///< empty: as `default_rates` says
  Rates default_rates = Rates::preset;  ///< an optimizer that names its own rate, as sgd[lr=0.1], has that one always
  std::vector<std::uint64_t> seeds;
  std::vector<train::Setting> settings;  ///< --set and flags; an optimizer's own come after them
  /// Rates of single optimizers instead of `rates`, by the text in `optimizers`. momentum-control's are divided by
  /// sqrt(eps) as all others are; without an entry it follows lehi's.
  std::map<std::string, std::vector<double>> rates_of = {};
  std::size_t best = 0;  ///< 0: every rate with every seed; else two phases, see SecondPhase
  Origin origin = {};    ///< of a request that a file holds
};

/// The paper's protocol: the first phase runs every rate with the first seed, the second the `best` rates of each
/// optimizer with the other seeds. Which those are follows from the first phase's results.
struct SecondPhase {
  std::string task;  ///< as runs name it
  std::size_t best = 1;
  std::vector<std::uint64_t> seeds;

  bool operator==(const SecondPhase&) const = default;
};

struct PlannedRun {
  std::string directory;  ///< its name in the study's directory: a safe file name, unique in the plan
  std::string variant;    ///< the optimizer as the request writes it
  train::RunConfig config;
};

struct StudyPlan {
  std::vector<PlannedRun> runs;      ///< of the first phase, which is the only one of a plain grid
  std::vector<SecondPhase> seconds;  ///< one a task that has a second
};

/// In the order in which they start: seeds outermost, then tasks, rates and optimizers, so that a study that is stopped
/// early has treated all optimizers alike. A run that asks for as many threads as there are gets one: a study's runs
/// share the machine, and their results must not depend on it.
/// Throws std::invalid_argument (train::ConfigError for what a file holds) for anything wrong or listed twice.
StudyPlan make_study_plan(const std::vector<PlanRequest>& requests);

/// The runs of one request.
std::vector<PlannedRun> make_plan(const PlanRequest& request);

/// Every run that a second phase may consist of, in the order in which they would start; a function of the first
/// phase's runs alone, so that a study can be continued from its directory.
std::vector<PlannedRun> second_phase_candidates(const std::vector<PlannedRun>& first,
                                                const std::vector<SecondPhase>& seconds);

/// "a,b[c=1,d=2],e" at the commas outside brackets; `option` is for the message about an empty piece.
std::vector<std::string> split_optimizers(std::string_view option, std::string_view text);

/// Letters, digits, '.', '-', '_' and '+' of a text; anything else becomes one '_'. Never empty, never longer than 80
/// bytes, never starting with a dot or dash.
std::string safe_name(std::string_view text);

/// True for names that safe_name() could have made: they are fit for a folder and can't lead out of one.
bool is_safe_name(std::string_view name);

/// A task for names of files: "mnist", "csv-FILE".
std::string short_task(std::string_view task);

}  // namespace lehi::study
