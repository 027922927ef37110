#include "train/found_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/files.h"
#include "runtime/message.h"

namespace lehi::train {

namespace fs = std::filesystem;

FoundRun find_run(const fs::path& out) {
  std::error_code error;
  const auto status = fs::status(out, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) {
    throw FileError(fmt::format("{} is not a directory; choose another --out", out.string()));
  }
  FoundRun found;
  if (fs::exists(out / "config.toml", error)) found.config = read_config(out / "config.toml");
  if (fs::exists(out / "run.json", error)) {
    found.record = read_run_record(out / "run.json");
    if (!found.config) throw FileError(fmt::format("{} has a run.json but no config.toml", out.string()));
    if (!found.is_over() && !found.record->unknown.empty()) throw FileError(found.record->unknown);
  }
  const auto names = list_directory(out);
  // A process that was killed while it wrote its first file has left a temporary, which find_checkpoint() removes.
  if (!found.config && !std::all_of(names.begin(), names.end(), &is_leftover_name)) {
    throw FileError(fmt::format("{} is not empty and holds no run; choose another --out", out.string()));
  }
  return found;
}

RunConfig config_to_use(const RunRequest& request, const FoundRun& found) {
  if (!found.config) {
    if (!request.config) {
      throw FileError(fmt::format("{} holds no run to resume: it has no config.toml", request.out.string()));
    }
    return *request.config;
  }
  if (!request.resume) {
    throw_invalid_argument("{} holds a run already; --resume continues it, another --out starts a new one",
                           request.out.string());
  }
  if (!request.config) return *found.config;
  if (const auto text = difference(*found.config, *request.config); !text.empty()) {
    throw FileError(fmt::format("{} holds a different run: {}; choose another --out", request.out.string(), text));
  }
  return *request.config;
}

std::optional<FoundCheckpoint> find_checkpoint(const RunRequest& request) {
  const auto checkpoints = request.out / "checkpoints";
  remove_leftovers(request.out);
  remove_leftovers(checkpoints);
  auto newest = newest_valid(checkpoints);
  for (const auto& text : newest.damaged) request.on_message(text);
  return std::move(newest.found);
}

void remove_partial_run(const fs::path& out) {
  try {
    for (const auto& name : list_directory(out)) {
      if (name != "config.toml") fs::remove_all(out / name);
    }
    fs::remove_all(out);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the error that ended the run is reported instead
  }
}

}  // namespace lehi::train
