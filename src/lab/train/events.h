// TensorBoard event files, written without TensorFlow: a TFRecord is a length, its masked CRC-32C, an Event message of
// protocol buffers, and that message's masked CRC-32C. One evaluation is one record, appended by one write, so a killed
// run leaves at most one torn record at the end, which TensorBoard waits on and ignores.
//
// metrics.jsonl is the record of a run and these files are a view of it. So a resumed run does not edit the old event
// file: it writes a new one from the metrics that the run kept, publishes it whole, and removes the older ones. Every
// step is then there once for any reader of the directory; a session-start event before the first value makes a
// TensorBoard that was watching forget what it had shown; and damage to an event file never needs repair. (Truncating
// in place would lose a watching TensorBoard, which never returns to an earlier byte; adding a file would leave the
// steps that were taken back.)
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "files/files.h"

namespace lehi::train {

class EventLog {
 public:
  /// Starts events.out.tfevents.<seconds>.<host> in `directory` with what `metrics` holds, and removes other event
  /// files. `started`: Unix time of the run's first start; a line's wall time is this plus its "seconds", so that time
  /// between an interruption and its resumption does not count.
  EventLog(const std::filesystem::path& directory, double started, const std::vector<nlohmann::json>& metrics = {});

  /// One line of metrics.jsonl: every number but "step" becomes a scalar under its key (null: NaN; an object's members
  /// "object/key"; texts and lists are left out).
  void add(const nlohmann::json& line);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  double started_;
  OutputFile file_;
};

}  // namespace lehi::train
