// Training without a disk: a model, its optimizer and the rows in their order. Everything about step k follows from the
// configuration, the data and the state after step k - 1, so a trainer that was restored goes on with the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "lehi/optimizer.h"
#include "model/network.h"
#include "train/checkpoint.h"
#include "train/config.h"
#include "train/task_data.h"

namespace lehi::train {

/// Where the wall time of a run went, in seconds.
struct TimeSplit {
  double batch = 0.0;     ///< picking and copying rows
  double step = 0.0;      ///< forward, pull-backs and update
  double evaluate = 0.0;  ///< test and validation
  double record = 0.0;    ///< metrics and checkpoints
};

class Trainer {
 public:
  /// Throws std::invalid_argument when the configuration does not fit the data, and FileError for weights to start from
  /// that can't be used.
  /// With ranks, this process is one of several: each makes a trainer of the same configuration and data, with rank 0's
  /// weights, and calls step(), evaluate() and checkpoint() whenever the others do.
  Trainer(const RunConfig& config, TaskData data, std::shared_ptr<Ranks> ranks = nullptr);

  /// Throws NonFiniteError when the run has diverged; the weights are then those before the step.
  void step();

  /// One line of metrics.jsonl; begins a new stretch of averages. Throws NonFiniteError when a prediction is not
  /// finite.
  nlohmann::json evaluate();

  bool finished() const { return steps_ == total_steps_; }
  bool evaluation_due() const;
  std::int64_t steps() const { return steps_; }
  std::int64_t total_steps() const { return total_steps_; }
  std::int64_t epoch() const;        ///< that the last step belonged to: 1, 2, ...
  double recent_train_loss() const;  ///< mean since the last evaluation
  std::int64_t parameter_count() const { return model::parameter_count(*model_); }
  const std::vector<std::string>& notices() const { return data_.notices; }
  const TimeSplit& time() const { return time_; }
  void add_record_time(double seconds) { time_.record += seconds; }

  /// Everything that the next steps depend on, and the times so far. Of several ranks, rank 0's is the one to keep.
  Checkpoint checkpoint() const;
  /// FileError naming `where` when the checkpoint does not fit this run. Takes it over: a large model's state fits into
  /// memory only once.
  void restore(Checkpoint&& checkpoint, const std::string& where);

  /// Totals of the run for its record: steps, passes, times, largest gradient, ...
  nlohmann::json totals() const;

 private:
  /// Sums since the last evaluation.
  struct Stretch {
    double loss = 0.0;
    double rows = 0.0;
    double gradient = 0.0;  ///< largest entry
    std::int64_t spikes = 0;
  };
  /// Over the whole run.
  struct Totals {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    double gradient = 0.0;
    std::int64_t spikes = 0;
    double fastest = 0.0;  ///< seconds a step, 10-step windows; 0: none yet
    double slowest = 0.0;
  };

  nlohmann::json state() const;  ///< of a checkpoint
  void prepare_epoch(std::int64_t epoch);
  void take_batch(std::int64_t first, std::int64_t rows);
  void time_window(double seconds);

  RunConfig config_;
  TaskData data_;
  std::unique_ptr<model::Network> model_;
  std::unique_ptr<Loss> loss_;
  std::shared_ptr<Ranks> ranks_;
  Optimizer optimizer_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t ordered_epoch_ = -1;  ///< that order_ belongs to, from 0
  torch::Tensor order_;
  torch::Tensor inputs_;  ///< the batch's rows, reused
  torch::Tensor targets_;
  Stretch stretch_;
  Totals totals_;
  TimeSplit time_;
  double window_seconds_ = 0.0;  ///< of the unfinished 10-step window; timing only, so not saved
  int window_steps_ = 0;
};

}  // namespace lehi::train
