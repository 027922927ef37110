// What a study shows while it runs, on standard error: on a terminal one line a running run, redrawn in place;
// elsewhere a plain line when a run starts or ends and now and then how far everything is. Time is given to it, so that
// tests can invent it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/study.h"

namespace lehi::study {

/// One line that `lehi train --progress lines` prints.
struct ProgressLine {
  std::int64_t step = 0;
  std::int64_t total = 0;
  std::int64_t epoch = 0;
  double train_loss = 0.0;  ///< NaN when it is not known yet
};

/// Nothing when the line is no such report.
std::optional<ProgressLine> parse_report(std::string_view line);

/// "8 s", "2 min 05 s", "1 h 02 min".
std::string duration_text(double seconds);

/// "mnist lehi lr 0.003 seed 0"
std::string run_text(const StudyRun& run);

class StudyProgress {
 public:
  struct Style {
    bool live = false;  ///< redraw in place
    int width = 80;     ///< of the terminal
  };
  /// Live when `terminal` is true and the environment has neither NO_COLOR nor TERM=dumb.
  static Style style_for(bool terminal);

  /// `jobs` runs at once; of all `runs`, those that have ended already are not to run again. `expected` are runs that
  /// will come later: they count in what is left.
  StudyProgress(std::ostream& err, Style style, std::size_t jobs, const std::vector<StudyRun>& runs,
                std::vector<StudyRun> expected = {});

  /// Another list of runs, of which none is running: when a study's second phase is known.
  void replace(const std::vector<StudyRun>& runs, std::vector<StudyRun> expected);

  /// How many run at once from now on, where that changes.
  void run_at_once(std::size_t jobs) { jobs_ = jobs; }

  void started(std::size_t run, double now);
  void reported(std::size_t run, const ProgressLine& report, double now);
  void ended(std::size_t run, const StudyRun& how, double now);
  void say(const std::string& sentence);  ///< between the lines of the runs
  void tick(double now);                  ///< draws when it is time to
  void clear();                           ///< takes the live lines away

  /// Seconds until a run ends, and until all do; nothing while nobody can tell.
  std::optional<double> seconds_left(std::size_t run, double now) const;
  std::optional<double> seconds_left(double now) const;

 private:
  struct Running {
    double since = 0.0;
    std::optional<ProgressLine> first;
    double first_at = 0.0;
    std::optional<ProgressLine> latest;
    double latest_at = 0.0;
  };

  using TaskAndOptimizer = std::pair<std::string, std::string>;
  using Durations = std::map<TaskAndOptimizer, std::vector<double>>;
  static TaskAndOptimizer kind_of(const StudyRun& run) { return {run.task, run.variant}; }
  /// Seconds that a run is taken to last; nothing while nothing is known.
  static std::optional<double> expected_duration(const StudyRun& run, const Durations& known);

  std::string summary(double now) const;
  std::string line_of(std::size_t run, double now) const;

  std::ostream& err_;
  Style style_;
  std::size_t jobs_;
  std::vector<StudyRun> runs_;
  std::vector<StudyRun> expected_;
  std::vector<bool> over_;
  std::map<std::size_t, Running> running_;
  Durations durations_;  ///< of whole runs that ended
  double drawn_at_ = -1e9;
  int drawn_lines_ = 0;
};

}  // namespace lehi::study
