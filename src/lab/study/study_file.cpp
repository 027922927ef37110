#include "study/study_file.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

#include "base/names.h"
#include "files/files.h"
#include "study/json.h"
#include "study/study_json.h"
#include "train/json_file.h"

namespace lehi::study {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint64_t kLargestStudy = std::uint64_t{1} << 28;
constexpr std::array kStatuses = {train::RunStatus::running, train::RunStatus::done, train::RunStatus::diverged,
                                  train::RunStatus::interrupted, train::RunStatus::failed};

std::optional<train::RunStatus> status_from(const json& object, const std::string& where) {
  const auto text = train::text_field(object, "status", where);
  if (text == status_text(StudyRun())) return {};
  for (const auto status : kStatuses) {
    if (train::status_name(status) == text) return status;
  }
  throw FileError(fmt::format("{}: 'status' is {}, expected waiting, running, done, diverged, interrupted or failed",
                              where, train::in_quotes(text)));
}

std::vector<double> values_from(const json& window, const std::string& where) {
  std::vector<double> values;
  const auto found = window.find("values");
  if (found == window.end()) return values;  // written by an earlier version
  if (!found->is_array()) throw FileError(fmt::format("{}: 'values' must be a list of numbers", where));
  for (const auto& value : *found) {
    if (!value.is_number() && !value.is_null()) {
      throw FileError(fmt::format("{}: 'values' must be a list of numbers", where));
    }
    values.push_back(value.is_null() ? kNan : value.get<double>());
  }
  return values;
}

std::vector<SecondPhase> second_phases_from(const json& document, const std::string& where) {
  std::vector<SecondPhase> second_phases;
  if (!document.contains("second_phase")) return second_phases;  // written by an earlier version
  const json& list = document["second_phase"];
  if (!list.is_array()) throw FileError(fmt::format("{}: 'second_phase' must be a list", where));
  for (const auto& entry : list) {
    const auto place = where + ", 'second_phase'";
    SecondPhase second;
    second.task = train::text_field(entry, "task", place);
    second.best = static_cast<std::size_t>(train::count_field(entry, "best", place));
    const json& seeds = train::field(entry, "seeds", place);
    if (!seeds.is_array()) throw FileError(fmt::format("{}: 'seeds' must be a list of seeds", place));
    for (const auto& seed : seeds) {
      if (!seed.is_number_unsigned()) throw FileError(fmt::format("{}: 'seeds' must be a list of seeds", place));
      second.seeds.push_back(seed.get<std::uint64_t>());
    }
    second_phases.push_back(std::move(second));
  }
  return second_phases;
}

// Accepts only plain names, which can't lead out of the study's directory, and each name only once.
std::string directory_from(const json& object, const std::string& where, std::set<std::string>& taken) {
  auto name = train::text_field(object, "directory", where);
  if (!base::is_safe_name(name)) {
    throw FileError(
        fmt::format("{}: 'directory' is {}, expected a plain directory name", where, train::in_quotes(name)));
  }
  if (!taken.insert(name).second) {
    throw FileError(fmt::format("{}: 'directory' is {}, which another run has too", where, train::in_quotes(name)));
  }
  return name;
}

// Fills `run` field by field, so that the fields before an invalid one can still be shown.
void read_entry(const json& object, const std::string& where, std::set<std::string>& directories, StudyRun& run) {
  run.task = train::text_field(object, "task", where);
  run.preset = train::text_field(object, "preset", where);
  run.optimizer = train::text_field(object, "optimizer", where);
  run.variant = train::text_field(object, "variant", where);
  run.lr = train::number_field(object, "lr", where);
  run.seed = static_cast<std::uint64_t>(train::count_field(object, "seed", where));
  run.directory = directory_from(object, where, directories);
  run.metric = train::text_field(object, "metric", where);
  run.window = train::count_field(object, "window", where);
  run.status = status_from(object, where);
  run.message = train::text_field(object, "message", where);
  run.result = train::object_field(object, "result", where);
  for (const auto& [metric, window] : train::object_field(object, "windows", where).items()) {
    const auto place = fmt::format("{}, 'windows', {}", where, train::in_quotes(metric));
    run.windows[metric] = {.count = train::count_field(window, "count", place),
                           .mean = number_or_nan(window, "mean"),
                           .two_std = number_or_nan(window, "two_std"),
                           .score = number_or_nan(window, "score"),
                           .values = values_from(window, place)};
  }
  // Studies of earlier versions have one phase.
  if (object.contains("phase")) run.phase = train::count_field(object, "phase", where) == 2 ? 2 : 1;
  run.largest_gradient = number_or_nan(object, "largest_gradient");
  run.spike_steps = train::count_field(object, "spike_steps", where);
  run.spike_evaluations = train::count_field(object, "spike_evaluations", where);
  run.eps_dominated = number_or_nan(object, "eps_dominated");
}

// An invalid entry becomes a failed run with the reason as its message, so that the other runs can still be shown.
StudyRun run_from(const json& object, const std::string& where, std::set<std::string>& directories) {
  StudyRun run;
  run.largest_gradient = run.eps_dominated = kNan;
  try {
    read_entry(object, where, directories, run);
  } catch (const std::exception& failure) {
    run.damaged = true;
    run.status = train::RunStatus::failed;
    run.message = failure.what();
    run.windows.clear();
    run.result = json::object();
  }
  return run;
}

// About the first unknown key of the study or of one of its runs; "" when there is none.
std::string unknown_key_message(const json& document, const std::string& where) {
  static const json known_study = json::parse(to_json(Study()).dump());
  static const json known_run = json::parse(to_json(StudyRun()).dump());
  auto message = train::about_unknown_key(document, known_study, where);
  const json& runs = document["runs"];
  for (std::size_t i = 0; i < runs.size() && message.empty(); ++i) {
    message = train::about_unknown_key(runs[i], known_run, fmt::format("{}, run {},", where, i + 1));
  }
  return message;
}

}  // namespace

void write_study(const std::filesystem::path& directory, const Study& study) {
  publish_text(directory / kStudyFile,
               to_json(study).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

Study read_study(const std::filesystem::path& directory) {
  const auto path = directory / kStudyFile;
  const auto where = path.string();
  if (!std::filesystem::exists(path)) {
    throw FileError(fmt::format(
        "{} is not a study: it has no {}; name a directory that `lehi compare` or `lehi sweep` wrote (--out)",
        directory.string(), kStudyFile));
  }
  const auto document = train::parse_json(read_text(path, kLargestStudy), where);
  const auto schema = train::count_field(document, "schema", where);
  if (schema != Study::kSchema) {
    throw FileError(fmt::format("{}: 'schema' is {}, this lehi reads {}; use the lehi that wrote it", where, schema,
                                Study::kSchema));
  }
  Study study;
  study.kind = train::text_field(document, "kind", where);
  study.lehi_version = train::text_field(document, "lehi_version", where);
  study.command_line = train::strings_field(document, "command_line", where);
  study.started = train::text_field(document, "started", where);
  if (!train::field(document, "finished", where).is_null()) {
    study.finished = train::text_field(document, "finished", where);
  }
  const json& runs = train::field(document, "runs", where);
  if (!runs.is_array() || runs.empty()) throw FileError(fmt::format("{}: 'runs' must be a list of runs", where));
  std::set<std::string> directories;
  study.runs.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    study.runs.push_back(run_from(runs[i], fmt::format("{}, run {}", where, i + 1), directories));
  }
  study.second_phases = second_phases_from(document, where);
  study.unknown_key = unknown_key_message(document, where);
  return study;
}

}  // namespace lehi::study
