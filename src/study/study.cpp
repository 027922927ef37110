#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "train/files.h"
#include "train/json_file.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using train::FileError;

constexpr std::uint64_t kLargestStudy = std::uint64_t{1} << 28;
constexpr std::array kStatuses = {train::RunStatus::running, train::RunStatus::done, train::RunStatus::diverged,
                                  train::RunStatus::interrupted, train::RunStatus::failed};
constexpr std::string_view kWaiting = "waiting";

double number_or_nan(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : kNan;
}

ordered_json number_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

// As the record has it, so that counts stay integers.
json of_result(const StudyRun& run, const char* key) {
  const auto found = run.result.find(key);
  return found != run.result.end() && found->is_number() ? *found : json();
}

bool is_metric(const std::string& key) { return key.ends_with("_loss") || key.ends_with("_accuracy"); }

void summarise(StudyRun& run, const std::vector<json>& lines) {
  run.windows.clear();
  run.largest_gradient = kNan;
  run.eps_dominated = kNan;
  run.spike_steps = run.spike_evaluations = 0;
  if (lines.empty()) return;
  if (run.done()) {
    for (const auto& [key, value] : lines.back().items()) {
      if (!is_metric(key)) continue;
      if (const auto window = window_of(lines, key, run.window)) run.windows[key] = *window;
    }
  }
  double dominated = 0.0;
  double largest = 0.0;
  for (const json& line : lines) {
    largest = std::max(largest, number_or_nan(line, "grad_inf_norm"));  // a NaN that comes second is passed over
    dominated += number_or_nan(line, "eps_dominated");
    const double spikes = number_or_nan(line, "spikes");
    if (!(spikes > 0.0)) continue;
    run.spike_steps += static_cast<std::int64_t>(spikes);
    ++run.spike_evaluations;
  }
  run.largest_gradient = largest > 0.0 ? largest : kNan;
  run.eps_dominated = dominated / static_cast<double>(lines.size());
}

std::optional<train::RunStatus> status_from(const json& object, const std::string& where) {
  const auto text = train::text_field(object, "status", where);
  if (text == kWaiting) return {};
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

// Such a name can't lead out of the study's directory.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

StudyRun run_from(const json& object, const std::string& where) {
  StudyRun run;
  run.task = train::text_field(object, "task", where);
  run.preset = train::text_field(object, "preset", where);
  run.optimizer = train::text_field(object, "optimizer", where);
  run.variant = train::text_field(object, "variant", where);
  run.lr = train::number_field(object, "lr", where);
  run.seed = static_cast<std::uint64_t>(train::count_field(object, "seed", where));
  run.directory = train::text_field(object, "directory", where);
  if (!is_plain_name(run.directory)) {
    throw FileError(fmt::format("{}: 'directory' is {}, expected the name of a folder beside {}", where,
                                train::in_quotes(run.directory), kStudyFile));
  }
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
                           .score = number_or_nan(window, "score")};
  }
  run.largest_gradient = number_or_nan(object, "largest_gradient");
  run.spike_steps = train::count_field(object, "spike_steps", where);
  run.spike_evaluations = train::count_field(object, "spike_evaluations", where);
  run.eps_dominated = number_or_nan(object, "eps_dominated");
  return run;
}

std::string other_part(const std::string& metric, std::string_view from, std::string_view to) {
  return metric.starts_with(from) ? std::string(to) + metric.substr(from.size()) : metric;
}

bool all_have(const std::vector<const StudyRun*>& runs, const std::string& metric) {
  bool any = false;
  for (const auto* run : runs) {
    if (!run->done()) continue;
    any = true;
    if (run->windows.count(metric) == 0) return false;
  }
  return any;
}

}  // namespace

double StudyRun::mean(const std::string& of_metric) const {
  const auto found = windows.find(of_metric);
  return done() && found != windows.end() ? found->second.mean : kNan;
}

double StudyRun::score(const std::string& of_metric) const {
  const auto found = windows.find(of_metric);
  return done() && found != windows.end() ? found->second.score : kNan;
}

double StudyRun::number(const char* key) const { return number_or_nan(result, key); }

std::string_view status_text(const StudyRun& run) { return run.status ? train::status_name(*run.status) : kWaiting; }

Study new_study(std::string kind, std::vector<std::string> command_line, const std::vector<PlannedRun>& plan) {
  Study study;
  study.kind = std::move(kind);
  study.command_line = std::move(command_line);
  study.started = train::utc_now();
  for (const auto& [directory, variant, config] : plan) {
    StudyRun run;
    run.task = config.task;
    run.preset = config.preset;
    run.optimizer = config.optimizer.name;
    run.variant = variant;
    run.lr = config.optimizer.group.lr;
    run.seed = config.seed;
    run.directory = directory;
    run.metric = config.judge.metric;
    run.window = config.judge.window;
    summarise(run, {});
    study.runs.push_back(std::move(run));
  }
  return study;
}

void read_run(StudyRun& run, const std::filesystem::path& study_directory) {
  const auto directory = study_directory / run.directory;
  run.status.reset();
  run.message.clear();
  run.result = json::object();
  summarise(run, {});
  if (!std::filesystem::exists(directory / "run.json")) return;
  try {
    const auto record = train::read_run_record(directory / "run.json");
    run.status = record.status;
    run.message = record.message;
    run.result = record.result;
    if (run.finished()) summarise(run, train::read_metrics(directory / "metrics.jsonl"));
    // The totals also know of the steps after the last evaluation, which matter where a run diverged.
    if (const double largest = run.number("grad_inf_norm"); largest > 0.0) run.largest_gradient = largest;
    if (const double spikes = run.number("spikes"); spikes > 0.0) run.spike_steps = static_cast<std::int64_t>(spikes);
    if (run.done() && run.windows.count(run.metric) == 0) {
      throw FileError(fmt::format("{} has no '{}', which the run is judged by (judge.metric)",
                                  (directory / "metrics.jsonl").string(), run.metric));
    }
  } catch (const FileError& error) {
    run.status = train::RunStatus::failed;
    run.message = error.what();
  }
}

ordered_json to_json(const StudyRun& run) {
  ordered_json windows = ordered_json::object();
  for (const auto& [metric, window] : run.windows) {
    windows[metric] = {{"count", window.count},
                       {"mean", number_or_null(window.mean)},
                       {"two_std", number_or_null(window.two_std)},
                       {"score", number_or_null(window.score)}};
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
          {"directory", run.directory},
          {"message", run.message},
          {"windows", windows},
          {"result", run.result}};
}

ordered_json to_json(const Study& study) {
  ordered_json runs = ordered_json::array();
  for (const auto& run : study.runs) runs.push_back(to_json(run));
  return {{"schema", Study::kSchema},
          {"kind", study.kind},
          {"lehi_version", study.lehi_version},
          {"command_line", study.command_line},
          {"started", study.started},
          {"finished", study.finished.empty() ? ordered_json() : ordered_json(study.finished)},
          {"runs", runs}};
}

void write_study(const std::filesystem::path& directory, const Study& study) {
  train::publish_text(directory / kStudyFile,
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
  const auto document = train::parse_json(train::read_text(path, kLargestStudy), where);
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
    const auto place = fmt::format("{}, run {}", where, i + 1);
    study.runs.push_back(run_from(runs[i], place));
    if (!directories.insert(study.runs.back().directory).second) {
      throw FileError(fmt::format("{}: 'directory' is {}, which another run has too", place,
                                  train::in_quotes(study.runs.back().directory)));
    }
  }
  return study;
}

std::vector<PlannedRun> read_plan(const std::filesystem::path& directory, const Study& study) {
  std::vector<PlannedRun> plan;
  for (const auto& run : study.runs) {
    plan.push_back({.directory = run.directory,
                    .variant = run.variant,
                    .config = train::read_config(directory / run.directory / "config.toml")});
  }
  return plan;
}

std::string plan_difference(const std::filesystem::path& directory, const Study& there,
                            const std::vector<PlannedRun>& here) {
  if (there.runs.size() != here.size()) {
    return fmt::format("it has {} runs and this one {}", there.runs.size(), here.size());
  }
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto& run = there.runs[i];
    const auto& [name, variant, config] = here[i];
    if (run.directory != name || run.variant != variant) {
      return fmt::format("its run {} is {} and this one's {}", i + 1, run.directory, name);
    }
    if (run.metric != config.judge.metric || run.window != config.judge.window) {
      return fmt::format("it is judged by {} over {} evaluations and this one by {} over {}", run.metric, run.window,
                         config.judge.metric, config.judge.window);
    }
    const auto file = directory / name / "config.toml";
    if (!std::filesystem::exists(file)) continue;  // the study was stopped before it had written all of them
    const auto difference = train::difference(train::read_config(file), config);
    if (!difference.empty()) return fmt::format("in {}, {}", name, difference);
  }
  return "";
}

std::string selection_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto validation = other_part(runs.front()->metric, "test_", "validation_");
  return all_have(runs, validation) ? validation : runs.front()->metric;
}

std::string reported_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto test = other_part(runs.front()->metric, "validation_", "test_");
  return all_have(runs, test) ? test : runs.front()->metric;
}

}  // namespace lehi::study
