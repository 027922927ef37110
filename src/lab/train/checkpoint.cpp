#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/failure.h"
#include "files/files.h"
#include "runtime/message.h"
#include "train/crc32c.h"
#include "train/json_file.h"

namespace lehi::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSchema = 1;
constexpr std::uint64_t kLargestState = 64'000'000;
constexpr JsonLimits kLimits{.depth = 64};
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";
constexpr const char* kModelConfig = "config.json";
constexpr std::string_view kPrefix = "step-";

std::string directory_name(std::int64_t step) { return fmt::format("{}{:09}", kPrefix, step); }

/// The step in a checkpoint's name; none for any other name.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  if (step < 0 || name != directory_name(step)) return std::nullopt;
  return step;
}

/// Steps of the checkpoints in a directory, newest first.
std::vector<std::int64_t> steps_in(const fs::path& directory) {
  std::vector<std::int64_t> steps;
  for (const auto& name : list_directory(directory)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

json describe(const FileChecksum& written) {
  return {{"bytes", written.bytes}, {"crc32c", fmt::format("{:08x}", written.crc32c)}};
}

FileChecksum write_tensors(const fs::path& path, const NamedTensors& tensors) {
  OutputFile file(path, OutputFile::Mode::create);
  const auto written = write_safetensors(file, tensors, {{"format", "pt"}});  // required by Hugging Face's tools
  file.close();
  return written;
}

void write_file(const fs::path& path, const std::string& text) {
  OutputFile file(path, OutputFile::Mode::create);
  file.write(text);
  file.close();
}

std::string checksum(const json& document) { return fmt::format("{:08x}", crc32c(to_text(document))); }

/// The keys of state.json. Those in `state` are checked by its owner.
const json& known_keys() {
  static const json known = {{"schema", kSchema},
                             {"step", 0},
                             {"state", json::object()},
                             {"files", {{kModel, json::object()}, {kOptimizer, json::object()}}}};
  return known;
}

void check_file(const fs::path& path, const json& expected) {
  InputFile file(path);
  FileChecksum found{.bytes = file.size(), .crc32c = 0};
  const auto bytes = static_cast<std::uint64_t>(count_field(expected, "bytes", path.string()));
  if (found.bytes != bytes) {
    throw FileError(
        fmt::format("{} has {} bytes, expected {}: it was changed or truncated", path.string(), found.bytes, bytes));
  }
  std::string chunk;
  for (std::uint64_t left = bytes; left > 0; left -= chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(left, 1 << 20));
    file.read(chunk.data(), chunk.size());
    found.crc32c = crc32c(chunk, found.crc32c);
  }
  if (describe(found) != expected) throw FileError(fmt::format("{} changed since it was written", path.string()));
}

/// state.json, after the sizes and checksums of all files have been checked.
json checked_state(const fs::path& path) {
  const auto where = (path / kState).string();
  auto document = parse_json(read_text(path / kState, kLargestState), where, kLimits);
  const auto schema = count_field(document, "schema", where);
  const auto expected = text_field(document, "crc32c", where);
  document.erase("crc32c");
  if (checksum(document) != expected) throw FileError(fmt::format("{} changed since it was written", where));
  if (schema != kSchema) {
    throw NewerCheckpointError(
        fmt::format("{}: 'schema' is {}, this lehi reads {}; use the lehi that wrote it", where, schema, kSchema));
  }
  if (const auto text = about_unknown_key(document, known_keys(), where); !text.empty()) {
    throw NewerCheckpointError(text);
  }
  if (directory_name(count_field(document, "step", where)) != path.filename()) {
    throw FileError(
        fmt::format("{} is of step {}, but its directory is of another", where, document["step"].get<std::int64_t>()));
  }
  const auto& files = object_field(document, "files", where);
  for (const char* name : {kModel, kOptimizer}) check_file(path / name, object_field(files, name, where));
  return field(document, "state", where);
}

bool is_valid(const fs::path& path) {
  try {
    checked_state(path);
    return true;
  } catch (const FileError&) {
    return false;
  }
}

}  // namespace

fs::path save_checkpoint(const fs::path& directory, std::int64_t step, const Checkpoint& checkpoint) {
  if (step < 0) throw_invalid_argument("a checkpoint cannot be of step {}; expected at least 0", step);
  make_directories(directory);
  auto path = directory / directory_name(step);
  publish_directory(path, [&](const fs::path& temporary) {
    json document = {{"schema", kSchema}, {"step", step}, {"state", checkpoint.state}};
    document["files"][kModel] = describe(write_tensors(temporary / kModel, checkpoint.model));
    document["files"][kOptimizer] = describe(write_tensors(temporary / kOptimizer, checkpoint.optimizer));
    // Parsed again, as a reader will parse it: the checksums then agree.
    document = parse_json(to_text(document), "a checkpoint's state", kLimits);
    document["crc32c"] = checksum(document);
    write_file(temporary / kState, to_text(document, 2) + "\n");
    if (!checkpoint.model_config.empty()) write_file(temporary / kModelConfig, checkpoint.model_config);
  });
  return path;
}

Checkpoint load_checkpoint(const fs::path& path) {
  const base::Activity reading(fmt::format("read the checkpoint {}", path.string()));
  Checkpoint checkpoint;
  checkpoint.state = checked_state(path);
  checkpoint.model = read_safetensors(path / kModel).tensors;
  checkpoint.optimizer = read_safetensors(path / kOptimizer).tensors;
  return checkpoint;
}

NewestCheckpoint newest_valid(const fs::path& directory) {
  NewestCheckpoint newest;
  for (const auto step : steps_in(directory)) {
    const auto path = directory / directory_name(step);
    try {
      newest.found = FoundCheckpoint{path, step, load_checkpoint(path)};
      break;
    } catch (const NewerCheckpointError&) {
      throw;
    } catch (const FileError& error) {
      newest.damaged.push_back(
          fmt::format("the checkpoint {} cannot be used and was skipped: {}", path.string(), error.what()));
    }
  }
  return newest;
}

void prune(const fs::path& directory, int keep) {
  if (keep < 1) throw_invalid_argument("{} checkpoints cannot be kept; expected at least 1", keep);
  const auto steps = steps_in(directory);
  bool valid_seen = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool spare = i >= static_cast<std::size_t>(keep);
    const auto path = directory / directory_name(steps[i]);
    if (spare && valid_seen) {
      remove_tree(path);
    } else if (steps.size() > static_cast<std::size_t>(keep) && !valid_seen) {
      valid_seen = is_valid(path);
    }
  }
}

}  // namespace lehi::train
