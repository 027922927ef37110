// metrics.jsonl: one JSON object per line, one line per evaluation, with an integer "step" that increases from line to
// line. A line is appended by one write: a killed process leaves at most one incomplete line, at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "files/files.h"

namespace lehi::train {

/// The lines of a log without an incomplete last one. FileError if another line is damaged.
std::vector<nlohmann::json> read_metrics(const std::filesystem::path& path);

class MetricsLog {
 public:
  /// Creates an empty log; replaces an existing one.
  static MetricsLog create(const std::filesystem::path& path);

  /// Opens the log of a run that continues after `step`. Removes an incomplete last line and the lines of later steps
  /// by publishing a shorter file.
  static MetricsLog resume(const std::filesystem::path& path, std::int64_t step);

  /// The step must be larger than the last line's.
  void append(const nlohmann::json& line);

  /// To be called before a checkpoint is saved: after a power failure no checkpoint is newer than the metrics on disk.
  void sync() { file_.sync(); }

  /// The lines that resume() kept.
  const std::vector<nlohmann::json>& kept() const { return kept_; }

 private:
  MetricsLog(const std::filesystem::path& path, std::vector<nlohmann::json> kept);

  std::vector<nlohmann::json> kept_;
  OutputFile file_;
  std::int64_t last_step_ = -1;
};

}  // namespace lehi::train
