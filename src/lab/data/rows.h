// A batch: rows of a data set, by index, into a buffer that is used again.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace lehi::data {

/// What the bytes of images stand for: byte * scale + shift.
struct ByteScale {
  float scale = 1.0F;
  float shift = 0.0F;
};

/// The same for images in colour, whose channels stand one after the other in a row.
struct ImageScale {
  std::int64_t side = 0;            ///< pixels, across and down
  std::vector<ByteScale> channels;  ///< red, green, blue

  std::int64_t plane() const { return side * side; }
};

/// to = from[rows], as torch::index_select_out(to, from, 0, rows) makes it; `to` is made or resized as needed. CPU
/// tensors, `from` contiguous, rows int64. The rows of a shuffled data set are far apart in memory: the next ones are
/// asked for while one is copied, which takes half of index_select's time. Throws std::invalid_argument for an index
/// out of range.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to);

/// The same from uint8 to float32: to = from[rows] * scale + shift. A quarter of the memory to read, which is what
/// taking rows at random waits for.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, ByteScale bytes, torch::Tensor& to);

/// The same for images: from uint8 [N, channels * side * side] to float32 [rows, channels, side, side].
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, const ImageScale& image, torch::Tensor& to);

/// Makes a buffer a contiguous CPU tensor of these sizes, in its own memory where that is enough.
void make_room(torch::Tensor& to, at::IntArrayRef sizes, torch::Dtype dtype);

/// Asks for large pages under a tensor that has not been written yet: rows at random otherwise wait as long for their
/// pages' addresses as for themselves. A wish: nothing is promised.
void use_large_pages(const torch::Tensor& fresh);

/// uint8 to float32: values * scale + shift, the bits that take_rows() makes of them.
torch::Tensor scaled(const torch::Tensor& values, ByteScale bytes);
torch::Tensor scaled(const torch::Tensor& values, const ImageScale& image);

/// One image; whoever changes its bytes on the way (augment.h) gets the same bits from it.
void scale_image(const std::uint8_t* from, const ImageScale& image, float* to);

/// The rows of a uint8 tensor seen as [N, channels, side, side].
torch::Tensor as_images(const torch::Tensor& values, const ImageScale& image);

}  // namespace lehi::data
