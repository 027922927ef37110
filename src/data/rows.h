// A batch: rows of a data set, by index, into a buffer that is used again.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lehi::data {

/// What the bytes of images stand for: byte * scale + shift.
struct ByteScale {
  float scale = 1.0F;
  float shift = 0.0F;
};

/// to = from[rows], as torch::index_select_out(to, from, 0, rows) makes it; `to` is made or resized as needed. CPU
/// tensors, `from` contiguous, rows int64. The rows of a shuffled data set are far apart in memory: the next ones are
/// asked for while one is copied, which takes half of index_select's time. Throws std::invalid_argument for an index
/// out of range.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to);

/// The same from uint8 to float32: to = from[rows] * scale + shift. A quarter of the memory to read, which is what
/// taking rows at random waits for.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, ByteScale bytes, torch::Tensor& to);

/// Asks for large pages under a tensor that has not been written yet: rows at random otherwise wait as long for their
/// pages' addresses as for themselves. A wish: nothing is promised.
void use_large_pages(const torch::Tensor& fresh);

/// uint8 to float32: values * scale + shift, the bits that take_rows() makes of them.
torch::Tensor scaled(const torch::Tensor& values, ByteScale bytes);

}  // namespace lehi::data
