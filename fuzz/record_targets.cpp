// Readers of the records of runs and studies.
#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "event_reader.h"
#include "harness.h"
#include "study/run_directory.h"
#include "study/study.h"
#include "study/study_file.h"
#include "study/study_json.h"
#include "targets.h"
#include "train/checkpoint.h"
#include "train/crc32c.h"
#include "train/events.h"
#include "train/json_file.h"
#include "train/metrics_log.h"
#include "train/run_record.h"

namespace lehi::fuzz {

using nlohmann::json;

namespace {

constexpr std::int64_t own_step = 7;

std::string read_back(const std::filesystem::path& path) { return read_text(path, std::uint64_t{1} << 30); }

const std::filesystem::path& own_checkpoint() {
  static const auto path = train::save_checkpoint(own_folder() / "checkpoints", own_step,
                                                  {.model = {{"w", torch::ones({2}, torch::kFloat32)}},
                                                   .optimizer = {{"w/m", torch::zeros({2}, torch::kFloat32)}},
                                                   .state = {{"step", own_step}},
                                                   .model_config = ""});
  return path;
}

// The document with the checksums that its writer would have made, so that the code behind the check is reached.
std::optional<std::string> with_checksum(std::string_view input, const std::string& valid_state) {
  auto document = json::parse(input.begin(), input.end(), nullptr, false);
  if (!document.is_object()) return {};
  document.erase("crc32c");
  if (document.contains("files")) document["files"] = json::parse(valid_state)["files"];
  document["crc32c"] = fmt::format("{:08x}", train::crc32c(train::to_text(document)));
  return train::to_text(document);
}

void load_with(std::string_view state) {
  input_file("checkpoints/step-000000007/state.json", state);
  const auto found = accepted<FileError>([&] { return train::load_checkpoint(own_checkpoint()); });
  if (found) require(found->model.size() == 1 && found->optimizer.size() == 1, "tensors were lost");
}

// The scalars that a line must produce, as documented: numbers under their path, null as NaN.
void collect_scalars(const json& object, const std::string& prefix, std::vector<EventScalar>& scalars) {
  for (const auto& [key, value] : object.items()) {
    if (prefix.empty() && key == "step") continue;
    if (value.is_object()) collect_scalars(value, prefix + key + "/", scalars);
    if (value.is_null()) scalars.push_back({prefix + key, std::nanf("")});
    if (value.is_number()) scalars.push_back({prefix + key, value.get<float>()});
  }
}

bool same_scalars(const std::vector<EventScalar>& a, const std::vector<EventScalar>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const EventScalar& x, const EventScalar& y) {
    return x.tag == y.tag && (x.value == y.value || (std::isnan(x.value) && std::isnan(y.value)));
  });
}

// A damaged entry is written as a failed run, which is valid; valid entries must not change.
bool valid_runs_unchanged(const study::Study& before, const study::Study& after) {
  if (before.runs.size() != after.runs.size()) return false;
  for (std::size_t i = 0; i < before.runs.size(); ++i) {
    if (!before.runs[i].damaged && study::to_json(before.runs[i]) != study::to_json(after.runs[i])) return false;
  }
  return true;
}

}  // namespace

void fuzz_checkpoint(std::string_view input) {
  static const auto valid_state = read_back(own_checkpoint() / "state.json");
  load_with(input);
  if (input.size() > 100'000) return;
  if (const auto text = with_checksum(input, valid_state)) load_with(*text);
}

void fuzz_run_record(std::string_view input) {
  const auto file = input_file("run.json", input);
  const auto record = accepted<FileError>([&] { return train::read_run_record(file); });
  if (!record) return;
  const auto copy = own_folder() / "copy.json";
  train::write_run_record(copy, *record);
  const auto once = read_back(copy);
  const auto again = accepted<FileError>([&] { return train::read_run_record(copy); });
  require(again.has_value(), "a record that was read can't be read again after writing it");
  train::write_run_record(copy, *again);
  require(read_back(copy) == once, "a record changes when written and read again");
}

void fuzz_study(std::string_view input) {
  static const auto folder = [] {
    const auto path = own_folder() / "study";
    std::filesystem::create_directory(path);
    std::filesystem::create_directory(own_folder() / "copy");
    return path;
  }();
  input_file("study/study.json", input);
  const auto found = accepted<FileError>([&] { return study::read_study(folder); });
  if (!found) return;
  for (const auto& run : found->runs) {
    if (run.damaged) {
      require(sentence_fault(run.message).empty(), "a damaged run's message is not one sentence: " + run.message);
      continue;
    }
    const auto path = accepted<FileError>([&] { return study::run_directory(run, folder); });
    require(path.has_value() && path->parent_path() == folder, "a run's directory is outside its study's");
  }
  study::write_study(own_folder() / "copy", *found);
  const auto again = accepted<FileError>([&] { return study::read_study(own_folder() / "copy"); });
  require(again.has_value(), "a study that was read can't be read again after writing it");
  require(valid_runs_unchanged(*found, *again), "a study's runs change when written and read again");
}

void fuzz_metrics(std::string_view input) {
  const auto file = input_file("metrics.jsonl", input);
  const auto lines = accepted<FileError>([&] { return train::read_metrics(file); });
  if (!lines) return;
  std::string text;
  std::int64_t last = -1;
  for (const auto& line : *lines) {
    const auto step = line.at("step").get<std::int64_t>();
    require(step > last, "steps do not increase");
    last = step;
    text += train::to_text(line) + "\n";
  }
  require(train::read_metrics(input_file("copy.jsonl", text)) == *lines, "metrics change when written and read again");
  // A run that resumes in the middle keeps the lines up to there.
  const auto middle = last / 2;
  {
    const auto log = accepted<FileError>([&] { return train::MetricsLog::resume(file, middle).kept().size(); });
    require(log.has_value() && *log <= lines->size(), "a readable log can't be resumed");
  }
  const auto kept = train::read_metrics(file);
  require(kept.empty() || kept.back().at("step").get<std::int64_t>() <= middle, "a later line was kept");
}

void fuzz_events(std::string_view input) {
  const auto lines = accepted<FileError>([&] { return train::read_metrics(input_file("lines.jsonl", input)); });
  if (!lines) return;
  const double started = 1.7e9;
  std::filesystem::create_directories(own_folder() / "events");
  const auto log = accepted<FileError>([&] {
    const auto half = lines->begin() + static_cast<std::ptrdiff_t>(lines->size() / 2);
    train::EventLog events(own_folder() / "events", started, {lines->begin(), half});
    for (auto line = half; line != lines->end(); ++line) events.add(*line);
    return events.path();
  });
  if (!log) return;
  const auto events = read_events(read_back(*log));
  require(events.size() == lines->size() + 2 && events[0].version == "brain.Event:2", "events are missing");
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const auto& line = (*lines)[i];
    const auto& event = events[i + 2];
    std::vector<EventScalar> scalars;
    collect_scalars(line, "", scalars);
    require(event.step == line.at("step").get<std::int64_t>(), "an event has the wrong step");
    require(event.wall_time == started + line.at("seconds").get<double>(), "an event has the wrong time");
    require(same_scalars(event.scalars, scalars), "an event has the wrong scalars");
  }
}

}  // namespace lehi::fuzz
