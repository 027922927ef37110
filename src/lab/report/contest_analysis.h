// What the numbers of a contest say, task by task: means and intervals, paired differences, who won, and how small a
// difference the seeds could find. Pure functions of a contest::Result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "contest/result.h"
#include "study/statistics.h"

namespace lehi::report {

/// Clearly better or worse at 95 %: by Student's interval of the paired differences or, where a seed diverged, by a
/// sign test over the pairs, in which a diverged seed is the worst result.
study::Verdict contest_verdict(const std::string& metric, const study::PairedDifference& difference);

struct ArmAnalysis {
  const contest::ArmResult* arm = nullptr;
  std::size_t seeds = 0;     ///< with a result, diverged ones included
  std::size_t diverged = 0;  ///< a diverged seed counts as worst
  double mean = 0.0;         ///< NaN without seeds or with a diverged one, as are the others
  double std = 0.0;
  double low = 0.0;  ///< 95 % interval of the mean by Student's t; NaN with one seed
  double high = 0.0;
  study::PairedDifference from_baseline;  ///< this arm minus the baseline; empty for the baseline
  study::Verdict against_baseline = study::Verdict::unknown;
  study::PairedDifference challenger;  ///< the challenger minus this arm; empty for the challenger
  study::Verdict challenger_against = study::Verdict::unknown;

  const std::string& label() const { return arm->label.empty() ? arm->arm : arm->label; }
};

/// The arm with the best mean among those that are no controls, and the others by its verdict against them. Positions
/// are those in TaskAnalysis::arms.
struct Winner {
  std::size_t arm = 0;
  std::vector<std::size_t> beaten;   ///< it is clearly better
  std::vector<std::size_t> level;    ///< no clear difference
  std::vector<std::size_t> ahead;    ///< clearly better than it, over the seeds in common (only with missing seeds)
  std::vector<std::size_t> unknown;  ///< no result, or too few seeds in common
};

/// What the seeds can find with 80 % power at 5 %, two-sided, given the spread of the paired differences.
struct Power {
  std::size_t seeds = 0;              ///< pairs of the arm that has the fewest; without diverged ones
  double spread = 0.0;                ///< standard deviation of a paired difference from the baseline: median over arms
  double detectable = 0.0;            ///< in the metric's unit
  double effect = 0.0;                ///< the difference worth finding, in the metric's unit
  std::optional<std::size_t> needed;  ///< seeds that find `effect`; nothing above 100,000 or without an effect
};

struct TaskAnalysis {
  const contest::TaskResult* task = nullptr;
  std::vector<ArmAnalysis>
      arms;  ///< best first; then those with diverged seeds, fewest first; then those without seeds
  std::optional<std::size_t> baseline;  ///< position in `arms`, as below; nothing if the task does not have the arm
  std::optional<std::size_t> challenger;
  std::optional<Winner> winner;  ///< nothing when each arm lacks results or diverged
  std::optional<Power> power;    ///< nothing with fewer than two pairs

  const ArmAnalysis* find(const std::string& arm) const;  ///< null if the task does not have it
};

/// Points into `task`.
TaskAnalysis analyse(const contest::TaskResult& task, const std::string& challenger);

/// Points into `result`.
std::vector<TaskAnalysis> analyse(const contest::Result& result);

/// How an arm's speed-up stands.
enum class SpeedUpState { not_measured, unfinished, not_reached, reached };
SpeedUpState speed_up_state(const contest::ArmResult& arm);

/// Tasks of one batch-size panel.
struct BatchPanel {
  struct Point {
    std::int64_t batch_size = 0;
    double mean = 0.0;  ///< advantage over the baseline: positive is better; NaN if it is not known
    double low = 0.0;
    double high = 0.0;
    std::size_t pairs = 0;
  };
  struct Line {
    const contest::ArmResult* arm = nullptr;  ///< of the first task that has it
    std::vector<Point> points;                ///< by batch size; tasks without the arm or the baseline are left out
    /// Change of the advantage per doubling of the batch: least squares within each seed, then the mean over the seeds
    /// that all batch sizes share, with its 95 % interval. NaN with fewer than two such seeds or batch sizes.
    double slope = 0.0;
    double slope_low = 0.0;
    double slope_high = 0.0;
  };
  std::string group;
  std::string baseline;
  std::string metric;
  std::vector<const contest::TaskResult*> tasks;  ///< by batch size
  std::vector<Line> lines;                        ///< without the baseline

  std::string baseline_label() const;
};

/// In order of first appearance; only groups of at least two tasks. Points into `result`.
std::vector<BatchPanel> batch_panels(const contest::Result& result);

/// The panel with advantages over `arm` instead of the baseline.
BatchPanel panel_against(BatchPanel panel, const std::string& arm);

}  // namespace lehi::report
