// study.json, written and read.
#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

#include "files/files.h"
#include "study/json.h"
#include "study/study.h"
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

std::vector<std::string> texts_from(const json& object, const char* key, const std::string& where) {
  std::vector<std::string> texts;
  const json& list = train::field(object, key, where);
  if (!list.is_array()) throw FileError(fmt::format("{}: '{}' is not a list of texts", where, key));
  for (const auto& text : list) {
    if (!text.is_string()) throw FileError(fmt::format("{}: '{}' is not a list of texts", where, key));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::vector<double> values_from(const json& window, const std::string& where) {
  std::vector<double> values;
  const auto found = window.find("values");
  if (found == window.end()) return values;  // a study of an earlier version
  if (!found->is_array()) throw FileError(fmt::format("{}: 'values' is not a list of numbers", where));
  for (const auto& value : *found) {
    if (!value.is_number() && !value.is_null()) {
      throw FileError(fmt::format("{}: 'values' is not a list of numbers", where));
    }
    values.push_back(value.is_null() ? kNan : value.get<double>());
  }
  return values;
}

ordered_json values_json(const std::vector<double>& values) {
  auto list = ordered_json::array();
  for (const double value : values) list.push_back(number_or_null(value));
  return list;
}

// As the record has it, so that counts stay integers.
json of_result(const StudyRun& run, const char* key) {
  const auto found = run.result.find(key);
  return found != run.result.end() && found->is_number() ? *found : json();
}

std::vector<SecondPhase> seconds_from(const json& document, const std::string& where) {
  std::vector<SecondPhase> seconds;
  if (!document.contains("second_phase")) return seconds;  // a study of an earlier version
  const json& list = document["second_phase"];
  if (!list.is_array()) throw FileError(fmt::format("{}: 'second_phase' is not a list", where));
  for (const auto& entry : list) {
    const auto place = where + ", 'second_phase'";
    SecondPhase second;
    second.task = train::text_field(entry, "task", place);
    second.best = static_cast<std::size_t>(train::count_field(entry, "best", place));
    const json& seeds = train::field(entry, "seeds", place);
    if (!seeds.is_array()) throw FileError(fmt::format("{}: 'seeds' is not a list of seeds", place));
    for (const auto& seed : seeds) {
      if (!seed.is_number_unsigned()) throw FileError(fmt::format("{}: 'seeds' is not a list of seeds", place));
      second.seeds.push_back(seed.get<std::uint64_t>());
    }
    seconds.push_back(std::move(second));
  }
  return seconds;
}

// Only a name that can't lead out of the study's directory, and that no other run has.
std::string directory_from(const json& object, const std::string& where, std::set<std::string>& taken) {
  auto name = train::text_field(object, "directory", where);
  if (!is_safe_name(name)) {
    throw FileError(fmt::format("{}: 'directory' is {}, expected the name of a folder beside {}", where,
                                train::in_quotes(name), kStudyFile));
  }
  if (!taken.insert(name).second) {
    throw FileError(fmt::format("{}: 'directory' is {}, which another run has too", where, train::in_quotes(name)));
  }
  return name;
}

// Into `run`, so that what was read before a mistake can still be shown.
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

// An entry that can't be used becomes a failed run that says so: one bad entry must not hide all others.
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

// Of the study or of one of its runs: the first sentence.
std::string about_unknown(const json& document, const std::string& where) {
  static const json known_study = json::parse(to_json(Study()).dump());
  static const json known_run = json::parse(to_json(StudyRun()).dump());
  auto text = train::about_unknown_key(document, known_study, where);
  const json& runs = document["runs"];
  for (std::size_t i = 0; i < runs.size() && text.empty(); ++i) {
    text = train::about_unknown_key(runs[i], known_run, fmt::format("{}, run {},", where, i + 1));
  }
  return text;
}

}  // namespace

ordered_json to_json(const StudyRun& run) {
  ordered_json windows = ordered_json::object();
  for (const auto& [metric, window] : run.windows) {
    windows[metric] = {{"count", window.count},
                       {"mean", number_or_null(window.mean)},
                       {"two_std", number_or_null(window.two_std)},
                       {"score", number_or_null(window.score)},
                       {"values", values_json(window.values)}};
  }
  const auto judged = run.windows.find(run.metric);
  const Window window =
      judged != run.windows.end() ? judged->second : Window{.mean = kNan, .two_std = kNan, .score = kNan};
  return {{"task", run.task},
          {"preset", run.preset},
          {"optimizer", run.optimizer},
          {"variant", run.variant},
          {"lr", run.lr},
          {"seed", run.seed},
          {"status", status_text(run)},
          {"metric", run.metric},
          {"window", run.window},
          {"window_mean", number_or_null(window.mean)},
          {"window_two_std", number_or_null(window.two_std)},
          {"score", number_or_null(window.score)},
          {"seconds", of_result(run, "seconds")},
          {"steps", of_result(run, "steps")},
          {"forward_passes", of_result(run, "forward_passes")},
          {"backward_passes", of_result(run, "backward_passes")},
          {"peak_memory_bytes", of_result(run, "peak_memory_bytes")},
          {"largest_gradient", number_or_null(run.largest_gradient)},
          {"spike_steps", run.spike_steps},
          {"spike_evaluations", run.spike_evaluations},
          {"eps_dominated", number_or_null(run.eps_dominated)},
          {"phase", run.phase},
          {"directory", run.directory},
          {"message", run.message},
          {"windows", windows},
          {"result", run.result}};
}

ordered_json to_json(const Study& study) {
  ordered_json runs = ordered_json::array();
  for (const auto& run : study.runs) runs.push_back(to_json(run));
  ordered_json seconds = ordered_json::array();
  for (const auto& second : study.seconds) {
    seconds.push_back({{"task", second.task}, {"best", second.best}, {"seeds", second.seeds}});
  }
  return {{"schema", Study::kSchema},
          {"kind", study.kind},
          {"lehi_version", study.lehi_version},
          {"command_line", study.command_line},
          {"started", study.started},
          {"finished", study.finished.empty() ? ordered_json() : ordered_json(study.finished)},
          {"protocol", study.seconds.empty() ? "grid" : "two-phase"},
          {"second_phase", seconds},
          {"runs", runs}};
}

void write_study(const std::filesystem::path& directory, const Study& study) {
  publish_text(directory / kStudyFile,
               to_json(study).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

Study read_study(const std::filesystem::path& directory) {
  const auto path = directory / kStudyFile;
  const auto where = path.string();
  if (!std::filesystem::exists(path)) {
    throw FileError(
        fmt::format("{} is no study: it has no {}; name a directory that `lehi compare` or `lehi sweep` "
                    "left (--out)",
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
  study.command_line = texts_from(document, "command_line", where);
  study.started = train::text_field(document, "started", where);
  if (!train::field(document, "finished", where).is_null()) {
    study.finished = train::text_field(document, "finished", where);
  }
  const json& runs = train::field(document, "runs", where);
  if (!runs.is_array() || runs.empty()) throw FileError(fmt::format("{}: 'runs' is not a list of runs", where));
  std::set<std::string> directories;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    study.runs.push_back(run_from(runs[i], fmt::format("{}, run {}", where, i + 1), directories));
  }
  study.seconds = seconds_from(document, where);
  study.unknown = about_unknown(document, where);
  return study;
}

}  // namespace lehi::study
