// metrics.jsonl: one JSON object a line, one line an evaluation, with an integer "step" that grows from line to line.
// A line is appended by one write, so a process that dies at any moment leaves at most one torn line, at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "files/files.h"

namespace lehi::train {

/// The whole lines of a log; a torn last line is left out. FileError where another line is damaged.
std::vector<nlohmann::json> read_metrics(const std::filesystem::path& path);

class MetricsLog {
 public:
  /// A new, empty log; one that exists is replaced.
  static MetricsLog create(const std::filesystem::path& path);

  /// The log of a run that goes on after `step`: a torn last line and the lines of later steps are dropped, by
  /// writing the rest aside and renaming it.
  static MetricsLog resume(const std::filesystem::path& path, std::int64_t step);

  /// Its step must be larger than the last line's.
  void append(const nlohmann::json& line);

  /// To be called before a checkpoint is saved, so that no checkpoint outlives a power cut that its metrics do not.
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
