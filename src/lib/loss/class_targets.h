// Validation of cross-entropy targets: class indices or probabilities, flattened to rows.
#pragma once

#include <torch/types.h>

#include "lehi/cross_entropy.h"

namespace lehi {

/// Returns [rows] int64 for class indices or [rows, classes] for probabilities. Throws std::invalid_argument for all
/// other targets.
torch::Tensor checked_class_targets(const CrossEntropyOptions& options, const torch::Tensor& predictions,
                                    const torch::Tensor& targets);

}  // namespace lehi
