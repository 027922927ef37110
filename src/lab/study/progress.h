// The progress of a study on standard error. On a terminal: one line per running run, redrawn in place. Otherwise: a
// line when a run starts or ends, and a summary every ten seconds. Callers pass the time, so that tests can choose it.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/progress_line.h"
#include "study/study.h"

namespace lehi::study {

class StudyProgress {
 public:
  struct Style {
    bool live = false;  ///< redraw in place
    int width = 80;     ///< of the terminal
  };
  /// Live when `terminal` is true and the environment has neither NO_COLOR nor TERM=dumb.
  static Style style_for(bool terminal);

  /// `jobs` runs at once. Those of `runs` that have ended already are not run again. `expected` are runs that will be
  /// added later; they count in the remaining time.
  StudyProgress(std::ostream& err, Style style, std::size_t jobs, const std::vector<StudyRun>& runs,
                std::vector<StudyRun> expected = {});

  /// Replaces the list of runs while none is running: when the second phase of a study has been chosen.
  void replace(const std::vector<StudyRun>& runs, std::vector<StudyRun> expected);

  /// Sets how many runs run at once.
  void set_jobs(std::size_t jobs) { jobs_ = jobs; }

  void started(std::size_t run, double now);
  void reported(std::size_t run, const ProgressLine& line, double now);
  void ended(std::size_t run, const StudyRun& how, double now);
  void print(const std::string& sentence);  ///< prints a message above the live lines
  void tick(double now);                    ///< draws if enough time has passed since the last drawing
  void clear();                             ///< erases the live lines

  /// Seconds until a run ends, and until all runs end; nothing while there is no estimate.
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

  using TaskAndVariant = std::pair<std::string, std::string>;
  using Durations = std::map<TaskAndVariant, std::vector<double>>;
  static TaskAndVariant kind_of(const StudyRun& run) { return {run.task, run.variant}; }
  /// The expected duration of a run in seconds; nothing while no duration is known.
  static std::optional<double> expected_duration(const StudyRun& run, const Durations& known);

  std::string summary(double now) const;
  std::string line_of(std::size_t run, double now) const;

  std::ostream& err_;
  Style style_;
  std::size_t jobs_;
  std::vector<StudyRun> runs_;
  std::vector<StudyRun> expected_;
  std::vector<bool> ended_;
  std::map<std::size_t, Running> running_;
  Durations durations_;  ///< of the runs that ran from start to end here
  double drawn_at_ = -1e9;
  int drawn_lines_ = 0;
};

}  // namespace lehi::study
