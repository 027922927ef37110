// What a task predicts, and what that means for training: its loss, and the numbers that an evaluation reports.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "lehi/loss.h"
#include "lehi/ranks.h"
#include "model/network.h"
#include "train/task_data.h"

namespace lehi::train {

/// Half the mean squared error, binary cross-entropy or cross-entropy; the last together with the network's head, where
/// it leaves that to the loss, `chunk` rows at once (0: by size).
std::unique_ptr<Loss> loss_of(Prediction prediction, const model::Network& network, std::int64_t chunk);

struct Scores {
  double loss = 0.0;
  std::optional<double> accuracy;    ///< percent; of classes
  std::optional<double> perplexity;  ///< exp(loss); of tokens
};

/// Over all rows of a part, some at a time; on_rows hears how many are done. Throws NonFiniteError when a prediction is
/// not finite. With ranks each of them takes its part of the rows, and all get the scores.
Scores evaluate(const model::Network& network, const Part& part, const Loss& loss, Prediction prediction,
                const std::function<void(std::int64_t)>& on_rows = {}, Ranks* ranks = nullptr);

}  // namespace lehi::train
