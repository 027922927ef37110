#include "data/augment.h"

#include <algorithm>
#include <vector>

#include "data/rows.h"
#include "kernels/philox.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

constexpr std::uint32_t crop_purpose = 0x63726f70;  // "crop"; the keys of kernels/draws.h have 0 at this position

kernels::PhiloxKey halves(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32U)};
}

// 0 to 8, uniform to within 9 / 2^32.
std::int64_t crop_offset(std::uint32_t word) {
  constexpr std::uint64_t offsets = 2 * crop_border + 1;
  return static_cast<std::int64_t>(word * offsets >> 32U);
}

// Crops one plane of bytes; pixels outside the image are 0 (black).
void crop_plane(const std::uint8_t* from, std::int64_t size, const Crop& crop, std::uint8_t* to) {
  const std::int64_t down = crop.down - crop_border;
  const std::int64_t right = crop.right - crop_border;
  const std::int64_t first = std::clamp<std::int64_t>(-right, 0, size);
  const std::int64_t last = std::clamp<std::int64_t>(size - right, first, size);
  for (std::int64_t y = 0; y < size; ++y, to += size) {
    std::fill_n(to, size, std::uint8_t{0});
    if (y + down < 0 || y + down >= size) continue;
    const std::uint8_t* begin = from + (y + down) * size + (first + right);
    if (crop.flip) {
      std::reverse_copy(begin, begin + (last - first), to + size - last);
    } else {
      std::copy_n(begin, last - first, to + first);
    }
  }
}

}  // namespace

Crop crop_of(std::uint64_t seed, std::int64_t epoch, std::int64_t row) {
  const auto [epoch_low, epoch_high] = halves(static_cast<std::uint64_t>(epoch));
  const auto [row_low, row_high] = halves(static_cast<std::uint64_t>(row));
  const auto key = kernels::philox({epoch_low, epoch_high, 0, crop_purpose}, halves(seed));
  const auto words = kernels::philox({row_low, row_high, 0, 0}, {key[0], key[1]});
  return {.down = crop_offset(words[0]), .right = crop_offset(words[1]), .flip = (words[2] & 1U) != 0};
}

void take_crops(const Split& split, const torch::Tensor& index, std::uint64_t seed, std::int64_t epoch,
                torch::Tensor& to) {
  if (!split.image) throw_invalid_argument("take_crops: the inputs are not colour images");
  const ImageScale& image = *split.image;
  torch::Tensor bytes;
  take_rows(as_images(split.inputs, image), index, bytes);
  make_room(to, bytes.sizes(), torch::kFloat32);
  const torch::Tensor rows_in_order = index.contiguous();
  const std::int64_t size = bytes.stride(0);
  std::vector<std::uint8_t> cropped(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < bytes.size(0); ++i) {
    const Crop crop = crop_of(seed, epoch, rows_in_order.data_ptr<std::int64_t>()[i]);
    const std::uint8_t* from = bytes.data_ptr<std::uint8_t>() + i * size;
    for (std::int64_t at = 0; at < size; at += image.plane()) {
      crop_plane(from + at, image.side, crop, cropped.data() + at);
    }
    scale_image(cropped.data(), image, to.data_ptr<float>() + i * size);
  }
}

}  // namespace lehi::data
