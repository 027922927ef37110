#include "faults/differences.h"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "files/files.h"
#include "train/metrics_log.h"
#include "train/run_record.h"

namespace lehi::faults {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 30;
constexpr std::string_view events_prefix = "events.out.tfevents.";

std::string text_of_file(const fs::path& path) { return read_text(path, largest); }

/// Names relative to the directory, without the time and host in an event file's name and without the steps of
/// checkpoints: one may be of the step at which a signal stopped the run.
std::set<std::string> names_below(const fs::path& directory) {
  static const std::regex step("step-[0-9]{9}");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (std::regex_match(entry.path().filename().string(), step)) continue;
    auto name = std::regex_replace(fs::relative(entry.path(), directory).string(), step, "step");
    if (const auto at = name.find(events_prefix); at != std::string::npos) name.resize(at + events_prefix.size());
    while (!names.insert(name).second) name += " again";
  }
  return names;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::vector<json> metrics_without_times(const fs::path& run) {
  auto lines = train::read_metrics(run / "metrics.jsonl");
  for (auto& line : lines) line = without_times(line);
  return lines;
}

/// The size of the event file. It does not depend on values: each has a fixed number of bytes.
std::uintmax_t events_size(const fs::path& run) {
  for (const auto& name : list_directory(run)) {
    if (name.starts_with(events_prefix)) return fs::file_size(run / name);
  }
  return 0;
}

void compare_checkpoints(const fs::path& reference, const fs::path& run, std::vector<std::string>& found) {
  if (const auto names = list_directory(reference); !names.empty()) {
    const auto& name = names.back();  // the newest
    for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
      if (text_of_file(reference / name / file) != text_of_file(run / name / file)) {
        found.push_back(fmt::format("{} differs", (run / name / file).string()));
      }
    }
    auto one = without_times(json::parse(text_of_file(reference / name / "state.json")));
    auto two = without_times(json::parse(text_of_file(run / name / "state.json")));
    one.erase("crc32c");  // includes the times
    two.erase("crc32c");
    if (one != two) found.push_back(fmt::format("{} differs: {}", run.string(), json::diff(one, two).dump()));
  }
}

}  // namespace

json without_times(json document) {
  if (document.is_object()) {
    for (const char* key : {"seconds", "split", "step_seconds_min", "step_seconds_max", "peak_memory_bytes"}) {
      document.erase(key);
    }
  }
  if (document.is_structured()) {
    for (auto& value : document) value = without_times(std::move(value));
  }
  return document;
}

std::vector<std::string> leftovers(const fs::path& directory) {
  static const std::regex temporary(R"(.+\.tmp-\d+-\d+)");
  std::vector<std::string> names;
  if (!fs::exists(directory)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (std::regex_match(entry.path().filename().string(), temporary)) names.push_back(entry.path().string());
  }
  return names;
}

std::vector<std::string> run_differences(const fs::path& reference, const fs::path& run) try {
  std::vector<std::string> found;
  const auto names = names_below(run);
  if (const auto expected = names_below(reference); names != expected) {
    found.push_back(fmt::format("{} holds {}, expected {}", run.string(), joined(names), joined(expected)));
    return found;
  }
  const auto record = train::read_run_record(run / "run.json");
  const auto expected = train::read_run_record(reference / "run.json");
  if (record.status != expected.status) {
    found.push_back(fmt::format("{} is {}", run.string(), train::status_name(record.status)));
  }
  if (without_times(record.result) != without_times(expected.result)) {
    found.push_back(fmt::format("the result of {} differs", run.string()));
  }
  if (metrics_without_times(run) != metrics_without_times(reference)) {
    found.push_back(fmt::format("the metrics of {} differ", run.string()));
  }
  if (events_size(run) != events_size(reference)) {
    found.push_back(fmt::format("the events of {} have {} bytes, expected {}", run.string(), events_size(run),
                                events_size(reference)));
  }
  if (text_of_file(run / "config.toml") != text_of_file(reference / "config.toml")) {
    found.push_back(fmt::format("the configuration of {} differs", run.string()));
  }
  compare_checkpoints(reference / "checkpoints", run / "checkpoints", found);
  return found;
} catch (const std::exception& error) {
  return {fmt::format("{} cannot be compared: {}", run.string(), error.what())};
}

std::vector<std::string> study_differences(const fs::path& reference, const fs::path& study) try {
  std::vector<std::string> found;
  const auto one = json::parse(text_of_file(reference / "study.json"));
  const auto two = json::parse(text_of_file(study / "study.json"));
  if (!two["finished"].is_string()) found.push_back(fmt::format("{} has not finished", study.string()));
  if (without_times(one["runs"]) != without_times(two["runs"])) {
    found.push_back(fmt::format("the runs of {} differ: {}", (study / "study.json").string(),
                                json::diff(without_times(one["runs"]), without_times(two["runs"])).dump()));
  }
  if (const auto names = names_below(study), expected = names_below(reference); names != expected) {
    found.push_back(fmt::format("{} holds {}, expected {}", study.string(), joined(names), joined(expected)));
    return found;
  }
  for (const auto& run : one["runs"]) {
    const auto name = run["directory"].get<std::string>();
    for (auto& text : run_differences(reference / name, study / name)) found.push_back(std::move(text));
  }
  return found;
} catch (const std::exception& error) {
  return {fmt::format("{} cannot be compared: {}", study.string(), error.what())};
}

std::uintmax_t bytes_lost(const fs::path& reference, const fs::path& directory) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(reference)) {
    if (!entry.is_regular_file()) continue;
    const auto other = directory / fs::relative(entry.path(), reference);
    if (!fs::is_regular_file(other) || text_of_file(entry.path()) != text_of_file(other)) bytes += entry.file_size();
  }
  return bytes;
}

std::map<std::string, std::string> finished_runs(const fs::path& study) {
  std::map<std::string, std::string> runs;
  for (const auto& name : list_directory(study)) {
    const auto file = study / name / "run.json";
    if (!fs::exists(file)) continue;
    const auto status = train::read_run_record(file).status;
    if (status == train::RunStatus::done || status == train::RunStatus::diverged) runs[name] = text_of_file(file);
  }
  return runs;
}

}  // namespace lehi::faults
