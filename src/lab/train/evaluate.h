// A task's loss, and its evaluation on a part of the data.
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

/// Half the mean squared error, binary cross-entropy or cross-entropy. For next_token, cross-entropy that includes the
/// network's head and computes `chunk` rows at a time (0: automatic).
std::unique_ptr<Loss> loss_of(Prediction prediction, const model::Network& network, std::int64_t chunk);

struct Scores {
  double loss = 0.0;
  std::optional<double> accuracy;    ///< percent; for classes
  std::optional<double> perplexity;  ///< exp(loss); for tokens
};

/// Evaluates all rows of a part, a block at a time; on_rows is called with the number of rows done. Throws
/// NonFiniteError if a prediction is not finite. With ranks, each evaluates its share of the rows and all return the
/// same scores.
Scores evaluate(const model::Network& network, const Part& part, const Loss& loss, Prediction prediction,
                const std::function<void(std::int64_t)>& on_rows = {}, Ranks* ranks = nullptr);

}  // namespace lehi::train
