// Checkpoints: <directory>/step-000000123/ with model.safetensors, optimizer.safetensors and state.json (and, for a
// language model, the config.json that Hugging Face's programs expect beside the weights), published as one directory.
// state.json has the size and CRC-32C of the two other files and a checksum of itself: any damage is detected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files/files.h"
#include "train/safetensors.h"

namespace lehi::train {

// NOLINTNEXTLINE(bugprone-exception-escape): its moves do not throw; clang-tidy follows an assertion of nlohmann::json
struct Checkpoint {
  NamedTensors model;
  NamedTensors optimizer;
  nlohmann::json state;      ///< any document; non-finite numbers become null
  std::string model_config;  ///< Hugging Face's config.json for other programs, or ""; not read back
};

/// Saves the checkpoint of a step, replaces an existing one, and returns its directory. Creates `directory`.
std::filesystem::path save_checkpoint(const std::filesystem::path& directory, std::int64_t step,
                                      const Checkpoint& checkpoint);

/// Reads and checks a checkpoint's directory. FileError if anything in it is damaged.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// An undamaged checkpoint of a newer version, with keys or a schema that this version does not support. It is not
/// skipped like a damaged one: the run would continue from an older checkpoint.
class NewerCheckpointError : public FileError {
 public:
  using FileError::FileError;
};

struct FoundCheckpoint {
  std::filesystem::path path;
  std::int64_t step = 0;
  Checkpoint checkpoint;
};

struct NewestCheckpoint {
  std::optional<FoundCheckpoint> found;  ///< none: the run starts from the beginning
  std::vector<std::string> damaged;      ///< a message for each newer one that was skipped
};

/// The newest undamaged checkpoint. NewerCheckpointError if a newer version has written it.
NewestCheckpoint newest_valid(const std::filesystem::path& directory);

/// Removes all but the newest `keep` (at least 1) checkpoints. If all of those are damaged, the newest undamaged one is
/// kept too.
void prune(const std::filesystem::path& directory, int keep);

}  // namespace lehi::train
