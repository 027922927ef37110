// What a run adds up while it trains: times, losses, gradients, passes.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lehi::train {

/// The wall time of a run in seconds, by activity.
struct TimeSplit {
  double batch = 0.0;     ///< selecting and copying rows
  double step = 0.0;      ///< forward and backward passes and update
  double evaluate = 0.0;  ///< test and validation
  double record = 0.0;    ///< metrics and checkpoints

  double total() const { return batch + step + evaluate + record; }
};

nlohmann::json to_json(const TimeSplit& time);
/// FileError, naming `where`, if a value is missing.
TimeSplit time_split_from(const nlohmann::json& document, const std::string& where);

/// Adds the seconds from its construction to its destruction to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch(Stopwatch&&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  Stopwatch& operator=(Stopwatch&&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Sums since the last evaluation; "stretch" in state.json.
struct IntervalSums {
  double loss = 0.0;
  double rows = 0.0;
  double gradient = 0.0;  ///< largest absolute entry
  std::int64_t spikes = 0;

  double mean_loss() const;  ///< NaN if there is no row
};

nlohmann::json to_json(const IntervalSums& sums);
IntervalSums interval_sums_from(const nlohmann::json& document, const std::string& where);

/// Sums over the run.
struct RunSums {
  std::int64_t forward = 0;   ///< forward passes
  std::int64_t backward = 0;  ///< backward passes
  double gradient = 0.0;      ///< largest absolute entry
  std::int64_t spikes = 0;
  double fastest = 0.0;  ///< seconds per step, smallest and largest mean of 10 steps; 0: none yet
  double slowest = 0.0;
};

/// From the document of Trainer::totals().
RunSums run_sums_from(const nlohmann::json& document, const std::string& where);

/// The mean time of every 10 steps, as in the paper's runtime table. An unfinished window is not part of a checkpoint.
class StepTimeWindow {
 public:
  /// Adds a step; after every tenth updates `sums`.
  void add(double seconds, RunSums& sums);

 private:
  double seconds_ = 0.0;
  int steps_ = 0;
};

}  // namespace lehi::train
