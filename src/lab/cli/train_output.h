// What `lehi train` prints: progress and a summary.
#pragma once

#include <iosfwd>
#include <string>

#include "train/run.h"

namespace lehi::cli {

/// Progress for a person: on a terminal one line that is redrawn, elsewhere one line per evaluation, at most every two
/// seconds.
class TerminalProgress {
 public:
  explicit TerminalProgress(std::ostream& err);
  void show(const train::RunProgress& progress);
  void end_line();

 private:
  std::ostream& err_;
  bool terminal_;
  bool open_ = false;    ///< the cursor is behind a line that can be redrawn
  double shown_ = -1e9;  ///< seconds of the run at the last line
  std::string scores_;   ///< of the last evaluation
};

/// Progress for a program: one line of JSON.
void print_progress_line(const train::RunProgress& progress, std::ostream& out);

void print_run_summary(const train::RunRecord& record, const std::string& directory, std::ostream& out);

}  // namespace lehi::cli
