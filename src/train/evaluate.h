// What a task's kind means for training: its loss, and the numbers that an evaluation reports.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "data/dataset.h"
#include "lehi/loss.h"

namespace lehi::train {

/// Half the mean squared error, binary cross-entropy or cross-entropy.
std::unique_ptr<Loss> loss_of(data::TaskKind kind);

struct Scores {
  double loss = 0.0;
  std::optional<double> accuracy;  ///< percent; none for regression
};

/// Over all rows of a part, a few thousand at a time. Throws NonFiniteError when a prediction is not finite.
Scores evaluate(const std::function<torch::Tensor(const torch::Tensor&)>& predict, const data::Split& part,
                const Loss& loss, data::TaskKind kind);

}  // namespace lehi::train
