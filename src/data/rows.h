// A batch: rows of a data set, by index, into a buffer that is used again.
#pragma once

#include <torch/types.h>

namespace lehi::model {

/// to = from[rows], as torch::index_select_out(to, from, 0, rows) makes it; `to` is made or resized as needed. CPU
/// tensors, `from` contiguous, rows int64. The rows of a shuffled data set are far apart in memory: the next ones are
/// asked for while one is copied, which takes half of index_select's time. Throws std::invalid_argument for an index
/// out of range.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to);

}  // namespace lehi::model
