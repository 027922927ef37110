// TensorBoard event files, written without TensorFlow: a TFRecord is a length, its masked CRC-32C, an Event message of
// protocol buffers, and that message's masked CRC-32C. An evaluation is one record, appended by one write: a killed run
// leaves at most one incomplete record at the end, which TensorBoard ignores.
//
// Event files are derived from metrics.jsonl. A resumed run writes a new one from the metrics up to its checkpoint and
// removes the old ones, so every step is in the directory once, and a damaged event file is never repaired. A
// session-start event before the first value makes a running TensorBoard discard what it has shown. (It never returns
// to an earlier byte, so truncating the old file would not work; adding a file would leave steps that were undone.)
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "files/files.h"

namespace lehi::train {

class EventLog {
 public:
  /// Creates events.out.tfevents.<seconds>.<host> in `directory` with the lines of `metrics`, and removes other event
  /// files. `started`: Unix time of the run's first start. A line's wall time is this plus its "seconds": time between
  /// an interruption and the resumption does not count.
  EventLog(const std::filesystem::path& directory, double started, const std::vector<nlohmann::json>& metrics = {});

  /// Adds a line of metrics.jsonl: every number but "step" becomes a scalar with its key as tag. null is NaN, an
  /// object's members have the tag "object/key", strings and lists are omitted.
  void add(const nlohmann::json& line);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  double started_;
  OutputFile file_;
};

}  // namespace lehi::train
