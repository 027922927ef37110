// Batches: copies rows of a data set, by index, into a buffer that is reused; converts bytes of images to floats.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace lehi::data {

/// How bytes of images become values: byte * scale + shift.
struct ByteScale {
  float scale = 1.0F;
  float shift = 0.0F;
};

/// The same for colour images, whose channels follow one another in a row.
struct ImageScale {
  std::int64_t side = 0;            ///< width and height in pixels
  std::vector<ByteScale> channels;  ///< red, green, blue

  std::int64_t plane() const { return side * side; }
};

/// to = from[rows], as torch::index_select_out(to, from, 0, rows); `to` is allocated or resized as needed. Expects CPU
/// tensors, `from` contiguous, rows int64. The rows of a shuffled data set are far apart in memory: the next ones are
/// prefetched while one is copied, which takes half the time of index_select. Throws std::invalid_argument for an index
/// out of range.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to);

/// The same from uint8 to float32: to = from[rows] * scale + shift. It reads a quarter of the memory, and the time of
/// taking random rows goes into reading memory.
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, ByteScale bytes, torch::Tensor& to);

/// The same for colour images: from uint8 [N, channels * side * side] to float32 [rows, channels, side, side].
void take_rows(const torch::Tensor& from, const torch::Tensor& rows, const ImageScale& image, torch::Tensor& to);

/// Makes `to` a contiguous CPU tensor of these sizes. Its memory is reused if it is large enough.
void make_room(torch::Tensor& to, at::IntArrayRef sizes, torch::Dtype dtype);

/// Asks the kernel for large pages for a tensor that has not been written yet, which may have no effect. With small
/// pages, address translation takes about as much of the time of reading random rows as the rows themselves.
void use_large_pages(const torch::Tensor& fresh);

/// uint8 to float32: values * scale + shift, bit-identical to the results of take_rows().
torch::Tensor scaled(const torch::Tensor& values, ByteScale bytes);
torch::Tensor scaled(const torch::Tensor& values, const ImageScale& image);

/// The same for one image. Used where its bytes were changed first (augment.h).
void scale_image(const std::uint8_t* from, const ImageScale& image, float* to);

/// A view of the rows of a uint8 tensor as [N, channels, side, side].
torch::Tensor as_images(const torch::Tensor& values, const ImageScale& image);

}  // namespace lehi::data
