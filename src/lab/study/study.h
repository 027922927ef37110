// A study: its runs and their results. study_file.h reads and writes it as study.json.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lehi/version.h"
#include "study/plan.h"
#include "study/statistics.h"
#include "train/run_record.h"

namespace lehi::study {

struct StudyRun {
  std::string task;
  std::string preset;
  std::string optimizer;
  std::string variant;  ///< the optimizer with its changed keys, "lehi-gn[mix=max]"
  double lr = 0.0;
  std::uint64_t seed = 0;
  std::string directory;  ///< its name inside the study's directory
  std::string metric;     ///< judge.metric of its configuration
  std::int64_t window = 1;
  int phase = 1;         ///< 2: added by the second phase of a two-phase study
  bool damaged = false;  ///< its entry in study.json is invalid: shown as a failed run, `message` has the reason
  std::optional<train::RunStatus> status;            ///< empty: waiting to be started
  std::string message;                               ///< why it diverged or failed
  std::map<std::string, Window> windows;             ///< of every evaluated loss and accuracy; only when it is done
  nlohmann::json result = nlohmann::json::object();  ///< of run.json
  double largest_gradient = 0.0;                     ///< largest grad_inf_norm; NaN when unknown or not finite
  std::int64_t spike_steps = 0;                      ///< steps with grad_inf_norm > 10
  std::int64_t spike_evaluations = 0;                ///< intervals between evaluations that contain such a step
  double eps_dominated = 0.0;                        ///< mean over the evaluations; NaN when unknown

  bool done() const { return status == train::RunStatus::done; }
  bool diverged() const { return status == train::RunStatus::diverged; }
  bool finished() const { return done() || diverged(); }
  /// Mean and score of the metric's window; NaN unless the run is done and has the metric.
  double mean(const std::string& of_metric) const;
  double score(const std::string& of_metric) const;
  /// A number of `result`; NaN when there is none of that name.
  double number(const char* key) const;
};

/// "waiting", or the name of the status.
std::string_view status_text(const StudyRun& run);

struct Study {
  static constexpr int kSchema = 1;

  std::string kind;  ///< "compare" or "sweep"
  std::string lehi_version = LEHI_VERSION;
  std::vector<std::string> command_line;   ///< that created it, beginning with "lehi"
  std::string started;                     ///< UTC
  std::string finished;                    ///< "" (null in the file) until every run has ended
  std::vector<StudyRun> runs;              ///< first the first phase, then the second, each in the plan's order
  std::vector<SecondPhase> second_phases;  ///< empty for a plain grid
  std::string unknown_key;                 ///< not in the file: a message about a key that this version does not know
};

/// The study of a plan before any run has started.
Study new_study(std::string kind, std::vector<std::string> command_line, const std::vector<PlannedRun>& plan);

/// A run that has not started.
StudyRun waiting_run(const PlannedRun& planned);

/// The metric that rates are selected by: the validation metric where all finished runs have one, else judge.metric.
std::string selection_metric(const std::vector<const StudyRun*>& runs);

/// The metric to report: the test metric where a task is judged by validation and has both, else judge.metric.
std::string reported_metric(const std::vector<const StudyRun*>& runs);

}  // namespace lehi::study
