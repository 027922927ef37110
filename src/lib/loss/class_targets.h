// The targets of cross-entropy: class indices or probabilities, checked and flattened to rows.
#pragma once

#include <torch/types.h>

#include "lehi/cross_entropy.h"

namespace lehi {

/// [rows] int64 for class indices, [rows, classes] for probabilities; throws std::invalid_argument for everything else.
torch::Tensor checked_class_targets(const CrossEntropyOptions& options, const torch::Tensor& predictions,
                                    const torch::Tensor& targets);

}  // namespace lehi
