// Checkpoints: <directory>/step-000000123/ with model.safetensors, optimizer.safetensors and state.json (and, for a
// language model, the config.json that Hugging Face's programs want beside the weights), published as one directory.
// state.json carries the size and CRC-32C of the two others and a checksum of itself, so any damage is found.
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

struct Checkpoint {
  NamedTensors model;
  NamedTensors optimizer;
  nlohmann::json state;      ///< anything; non-finite numbers would come back as null
  std::string model_config;  ///< Hugging Face's config.json for other programs, or "": written, never read back
};

/// Saves under `step`, replacing what is there, and returns the checkpoint's directory. Creates `directory`.
std::filesystem::path save_checkpoint(const std::filesystem::path& directory, std::int64_t step,
                                      const Checkpoint& checkpoint);

/// One checkpoint's directory, checked and read; FileError where anything about it is damaged.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// A checkpoint that is whole, but of a newer version: with keys or a schema that this one does not know. It must not
/// be taken for a damaged one, which the run goes on without.
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
  std::optional<FoundCheckpoint> found;  ///< none: start from the beginning
  std::vector<std::string> damaged;      ///< newer ones that were skipped, one sentence each
};

/// The newest checkpoint that is whole; NewerCheckpointError where a newer version has written it.
NewestCheckpoint newest_valid(const std::filesystem::path& directory);

/// Removes all but the newest `keep` (at least 1) checkpoints. Where none of those is whole, the newest whole one stays
/// too.
void prune(const std::filesystem::path& directory, int keep);

}  // namespace lehi::train
