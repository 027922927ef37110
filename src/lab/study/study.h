// study.json: which runs a study consists of and what became of each. Written when a study starts and after every run,
// so that a study which was stopped, at whatever moment, can be shown and continued. Everything that tables are made of
// is in it; the runs' own directories hold the rest.
#pragma once

#include <cstdint>
#include <filesystem>
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
  std::string directory;  ///< its name in the study's
  std::string metric;     ///< what it is judged by
  std::int64_t window = 1;
  int phase = 1;         ///< 2: added by the second phase of a two-phase study
  bool damaged = false;  ///< its entry in study.json can't be used: a failed run whose message says why
  std::optional<train::RunStatus> status;            ///< none: waiting to be started
  std::string message;                               ///< why it diverged or failed
  std::map<std::string, Window> windows;             ///< of every loss and accuracy that was evaluated, when it is done
  nlohmann::json result = nlohmann::json::object();  ///< of run.json
  double largest_gradient = 0.0;                     ///< grad_inf_norm; NaN when unknown or not finite
  std::int64_t spike_steps = 0;                      ///< steps with grad_inf_norm > 10
  std::int64_t spike_evaluations = 0;                ///< stretches between evaluations with such a step
  double eps_dominated = 0.0;                        ///< mean over the evaluations; NaN when unknown

  bool done() const { return status == train::RunStatus::done; }
  bool diverged() const { return status == train::RunStatus::diverged; }
  bool finished() const { return done() || diverged(); }
  /// The window's mean or score of `metric`; NaN for a run that diverged or did not finish, or has no such metric.
  double mean(const std::string& of_metric) const;
  double score(const std::string& of_metric) const;
  /// A number of `result`; NaN when it has none of that name.
  double number(const char* key) const;
};

/// "waiting", or the name of the status.
std::string_view status_text(const StudyRun& run);

struct Study {
  static constexpr int kSchema = 1;

  std::string kind;  ///< "compare" or "sweep"
  std::string lehi_version = LEHI_VERSION;
  std::vector<std::string> command_line;  ///< that made it, beginning with "lehi"
  std::string started;                    ///< UTC
  std::string finished;                   ///< "" (null in the file) until every run has ended
  std::vector<StudyRun> runs;             ///< of the first phase, then of the second, each in the order of its plan
  std::vector<SecondPhase> seconds;       ///< of a two-phase study
  std::string unknown;  ///< not in the file: a sentence about a key there that this version does not know, or ""
};

inline constexpr const char* kStudyFile = "study.json";

/// The study of a plan in which nothing has run yet.
Study new_study(std::string kind, std::vector<std::string> command_line, const std::vector<PlannedRun>& plan);

/// A run that has not started.
StudyRun waiting_run(const PlannedRun& planned);

/// The run's directory and a file in it. FileError for a name that is not plain (is_safe_name) and for what is a
/// symbolic link: nothing that a study's files say makes the program read or write outside the study's directory.
std::filesystem::path run_directory(const StudyRun& run, const std::filesystem::path& study_directory);
std::filesystem::path run_file(const StudyRun& run, const std::filesystem::path& study_directory,
                               const std::string& name);

/// What a run's directory says about it now: status, windows, result. A directory without run.json is a waiting run;
/// one whose files are damaged is a failed one, with the reason as its message. Throws nothing.
void read_run(StudyRun& run, const std::filesystem::path& study_directory);

/// The document, and a run of it, as `--json` prints them.
nlohmann::ordered_json to_json(const StudyRun& run);
nlohmann::ordered_json to_json(const Study& study);

void write_study(const std::filesystem::path& directory, const Study& study);

/// FileError naming file and key where something is missing, of the wrong kind, or from a newer schema. An entry
/// of `runs` that can't be used does not throw: it becomes a `damaged` run. A key that is not known is passed over and
/// told of in `unknown`: such a study can be shown, but not gone on with, since the key may say what is to be run.
Study read_study(const std::filesystem::path& directory);

/// The plan of a study's first phase from its directory: study.json and every run's config.toml.
std::vector<PlannedRun> read_plan(const std::filesystem::path& directory, const Study& study);

/// How a plan differs from that of a study in `directory`, as the end of a sentence ("it has 3 runs and this one 4");
/// "" when it is the same.
std::string plan_difference(const std::filesystem::path& directory, const Study& there,
                            const std::vector<PlannedRun>& here, const std::vector<SecondPhase>& seconds = {});

/// The metric to choose rates by: the validation one where the runs have it, else what they are judged by.
std::string selection_metric(const std::vector<const StudyRun*>& runs);

/// The metric to report: the test one where a task is judged by validation and has both.
std::string reported_metric(const std::vector<const StudyRun*>& runs);

}  // namespace lehi::study
