// The outcome of a contest: for each task and optimizer the chosen settings, the cost of a step, the results of fresh
// seeds at equal time, and the speed-up. contest.json holds it; every table, picture and sentence is made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/statistics.h"

namespace lehi::contest {

/// One trial on held-out rows with the tuning seed.
struct Trial {
  double lr = 0.0;
  std::string knob;    ///< "optimizer.weight_decay=0.1"; "": the optimizer's own value
  double value = 0.0;  ///< of the validation metric; NaN: diverged
};

/// Time of a step relative to the baseline's, from runs that take turns.
struct StepTime {
  double ratio = 1.0;    ///< median over the rounds
  double low = 1.0;      ///< smallest round
  double high = 1.0;     ///< largest round
  double seconds = 0.0;  ///< median
};

/// The smallest fraction of the baseline's steps, with a decay of its own, that reaches the baseline's final result.
struct SpeedUp {
  struct Point {
    double fraction = 1.0;
    std::vector<study::SeedValue> values;
  };
  std::vector<Point> points;               ///< those that were run, by fraction
  std::optional<double> steps_fraction;    ///< nothing: not reached with all of the baseline's steps
  std::optional<double> seconds_fraction;  ///< steps_fraction x StepTime::ratio
};

struct ArmResult {
  std::string arm;            ///< as the contest file names it: "lehi-kron[step_factor=1.0]"
  std::string label;          ///< shown: "lehi-kron, v from g only"
  std::string optimizer;      ///< as this task trains it, if that differs from `arm`: "soap[sides=automatic]"; else ""
  bool control = false;       ///< the challenger with one part changed; takes no part in "who won"
  std::vector<Trial> trials;  ///< first the rates, then the knob's values
  double lr = 0.0;            ///< chosen
  std::string knob;           ///< chosen; "": the optimizer's own value
  bool rate_at_edge = false;  ///< the chosen rate is the smallest or largest one tried
  StepTime time;
  std::int64_t steps = 0;  ///< at equal time
  /// The reported metric with the verdict's seeds; a value that is not finite is a run that diverged.
  std::vector<study::SeedValue> values;
  std::optional<SpeedUp> speed_up;
};

struct TaskResult {
  std::string name;   ///< unique in the contest, a valid file name: "gpt-small"
  std::string title;  ///< "GPT, 0.4M weights, 16 x 64 tokens"
  std::string group;  ///< tasks of a batch-size panel share one; "" for others
  std::int64_t batch_size = 0;
  std::int64_t parameters = 0;
  std::string metric;           ///< reported, "test_loss"
  std::string tuning_metric;    ///< "validation_loss"
  std::string baseline;         ///< an arm, "adamw"
  std::int64_t steps = 0;       ///< of the baseline
  double effect = 0.0;          ///< the difference worth finding, as a fraction of the baseline's mean
  std::vector<ArmResult> arms;  ///< in the file's order
};

/// What the contest was held to find out.
struct Question {
  std::string challenger;             ///< an arm: "lehi-kron"
  std::vector<std::string> rivals;    ///< "soap", "muon": the challenger should be at least level with the best of them
  std::vector<std::string> classics;  ///< "adam", "adamw", "lehi": the challenger should be worse than the best nowhere
  std::string probe;  ///< an arm: the challenger with a curvature probe, which should explain more; "" if there is none
};

struct Result {
  static constexpr int kSchema = 1;

  std::string lehi_version;
  std::string started;   ///< UTC
  std::string finished;  ///< "" while something is missing
  std::string machine;   ///< "2 cores of an AMD EPYC"
  std::vector<std::string> command_line;
  Question question;
  std::vector<TaskResult> tasks;
  std::vector<std::string> missing;  ///< what has not been run, one sentence each
};

}  // namespace lehi::contest
