// Training without files: a model, its optimizer and the rows in their order. Step k depends only on the configuration,
// the data and the state after step k - 1: a restored trainer continues with the same bits.
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
#include "train/training_sums.h"

namespace lehi::train {

class Trainer {
 public:
  /// Throws std::invalid_argument if the configuration does not fit the data, and FileError if train.init_from can't be
  /// used. With ranks, each process constructs a trainer with the same configuration and data, gets rank 0's weights,
  /// and calls step(), evaluate() and checkpoint() in the same order as the others.
  Trainer(RunConfig config, TaskData data, std::shared_ptr<Ranks> ranks = nullptr);

  /// Throws NonFiniteError if the run has diverged; the weights are then those before the step.
  void step();

  /// Returns a line of metrics.jsonl and resets the sums since the last evaluation. Throws NonFiniteError if a
  /// prediction is not finite.
  nlohmann::json evaluate();

  bool finished() const { return steps_ == total_steps_; }
  bool evaluation_due() const;
  std::int64_t steps() const { return steps_; }
  std::int64_t total_steps() const { return total_steps_; }
  std::int64_t epoch() const;        ///< of the last step: 1, 2, ...
  double recent_train_loss() const;  ///< mean since the last evaluation
  std::int64_t parameter_count() const { return model::parameter_count(*model_); }
  const std::vector<std::string>& notices() const { return data_.notices; }
  void add_record_time(double seconds) { time_.record += seconds; }

  /// Everything that the next steps depend on, and the times so far. With several ranks, rank 0's is to be saved.
  Checkpoint checkpoint() const;
  /// FileError, naming `where`, if the checkpoint does not fit this run. Takes the checkpoint by move: two copies of a
  /// large model's state would not fit into memory.
  void restore(Checkpoint&& checkpoint, const std::string& where);

  /// Totals of the run for run.json: steps, passes, times, largest gradient, ...
  nlohmann::json totals() const;

 private:
  nlohmann::json state() const;  ///< of a checkpoint
  void prepare_epoch(std::int64_t epoch);
  void take_batch(std::int64_t first, std::int64_t rows);

  RunConfig config_;
  TaskData data_;
  std::unique_ptr<model::Network> model_;
  std::unique_ptr<Loss> loss_;
  std::shared_ptr<Ranks> ranks_;
  Optimizer optimizer_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t ordered_epoch_ = -1;  ///< the epoch of order_, from 0
  torch::Tensor order_;
  torch::Tensor inputs_;  ///< the rows of the batch; their memory is reused
  torch::Tensor targets_;
  IntervalSums interval_;
  RunSums run_;
  TimeSplit time_;
  StepTimeWindow step_times_;
};

}  // namespace lehi::train
