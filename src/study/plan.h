// Which runs a study consists of: tasks x optimizers x rates x seeds, each with its whole configuration and the name of
// its directory. Pure: nothing here touches the disk but the user's --config file.
#pragma once

#include <cstdint>
#include <filesystem>
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

struct PlanRequest {
  std::vector<std::string> tasks;
  std::string preset;                   ///< "" for "paper"
  std::filesystem::path file;           ///< --config, or empty
  std::vector<std::string> optimizers;  ///< "lehi", "lehi-gn[mix=max]", ...
  std::vector<double> rates;            ///< empty: as `default_rates` says
  Rates default_rates = Rates::preset;  ///< an optimizer that names its own rate, as sgd[lr=0.1], has that one always
  std::vector<std::uint64_t> seeds;
  std::vector<train::Setting> settings;  ///< --set and flags; an optimizer's own come after them
};

struct PlannedRun {
  std::string directory;  ///< its name in the study's directory: a safe file name, unique in the plan
  std::string variant;    ///< the optimizer as the request writes it
  train::RunConfig config;
};

/// In the order in which they start: seeds outermost, then tasks, rates and optimizers, so that a study that is stopped
/// early has treated all optimizers alike. A run that asks for as many threads as there are gets one: a study's runs
/// share the machine, and their results must not depend on it.
/// Throws std::invalid_argument (or train::ConfigError) for anything wrong or listed twice.
std::vector<PlannedRun> make_plan(const PlanRequest& request);

/// "a,b[c=1,d=2],e" at the commas outside brackets; `option` is for the message about an empty piece.
std::vector<std::string> split_optimizers(std::string_view option, std::string_view text);

/// Letters, digits, '.', '-', '_' and '+' of a text; anything else becomes one '_'. Never empty, never longer than 80
/// bytes, never starting with a dot or dash.
std::string safe_name(std::string_view text);

/// A task for names of files: "mnist", "csv-FILE".
std::string short_task(std::string_view task);

}  // namespace lehi::study
