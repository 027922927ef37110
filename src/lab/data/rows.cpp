#include "data/rows.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/vector_math.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

// Rows are too short for the hardware's prefetcher.
constexpr std::int64_t rows_ahead = 4;
constexpr std::size_t cache_line = 64;  // bytes

void prefetch(const std::uint8_t* row, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += cache_line) __builtin_prefetch(row + at);
}

// Checks all indices, then calls copy(i, the row's memory, its size in bytes) for each.
template <class Copy>
void for_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to, torch::Dtype dtype,
              const Copy& copy) {
  if (from.dim() < 1 || !from.is_cpu() || !from.is_contiguous() || rows.dim() != 1 || !rows.is_cpu() ||
      rows.scalar_type() != torch::kInt64) {
    throw_invalid_argument(
        "take_rows: expected a contiguous tensor of rows and a one-dimensional tensor of int64 indices, both on the "
        "CPU");
  }
  const std::int64_t count = rows.numel();
  const torch::Tensor contiguous = rows.contiguous();
  const auto* index = contiguous.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= from.size(0)) {
      throw_invalid_argument("take_rows: index {} is {}; expected 0 to {}", i, index[i], from.size(0) - 1);
    }
  }
  auto sizes = from.sizes().vec();
  sizes.front() = count;
  make_room(to, sizes, dtype);
  if (from.numel() == 0 || count == 0) return;

  const std::size_t bytes = from.nbytes() / static_cast<std::size_t>(from.size(0));
  const auto* source = static_cast<const std::uint8_t*>(from.data_ptr());
  const auto row = [&](std::int64_t i) { return source + static_cast<std::size_t>(index[i]) * bytes; };
  for (std::int64_t i = 0; i < std::min(rows_ahead, count); ++i) prefetch(row(i), bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + rows_ahead < count) prefetch(row(i + rows_ahead), bytes);
    copy(static_cast<std::size_t>(i), row(i), bytes);
  }
}

LEHI_CLONES void scale_bytes(const std::uint8_t* from, std::size_t size, float scale, float shift, float* to) {
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<float>(from[i]) * scale + shift;
}

}  // namespace

void make_room(torch::Tensor& to, at::IntArrayRef sizes, torch::Dtype dtype) {
  const bool reusable = to.defined() && to.scalar_type() == dtype && to.is_cpu() && to.is_contiguous();
  to = reusable ? to.resize_(sizes) : torch::empty(sizes, dtype);
}

void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to) {
  for_rows(from, rows, to, from.scalar_type(), [&](std::size_t i, const std::uint8_t* row, std::size_t bytes) {
    std::memcpy(static_cast<std::uint8_t*>(to.data_ptr()) + i * bytes, row, bytes);
  });
}

void take_rows(const torch::Tensor& from, const torch::Tensor& rows, ByteScale bytes, torch::Tensor& to) {
  if (from.scalar_type() != torch::kUInt8) {
    throw_invalid_argument("take_rows: expected uint8 to scale, not {}", c10::toString(from.scalar_type()));
  }
  for_rows(from, rows, to, torch::kFloat32, [&](std::size_t i, const std::uint8_t* row, std::size_t size) {
    scale_bytes(row, size, bytes.scale, bytes.shift, to.data_ptr<float>() + i * size);
  });
}

void take_rows(const torch::Tensor& from, const torch::Tensor& rows, const ImageScale& image, torch::Tensor& to) {
  for_rows(as_images(from, image), rows, to, torch::kFloat32,
           [&](std::size_t i, const std::uint8_t* row, std::size_t size) {
             scale_image(row, image, to.data_ptr<float>() + i * size);
           });
}

void use_large_pages(const torch::Tensor& fresh) {
  constexpr std::size_t page = std::size_t{1} << 21U;
  void* begin = fresh.data_ptr();
  std::size_t bytes = fresh.nbytes();
  if (std::align(page, page, begin, bytes) != nullptr) ::madvise(begin, bytes / page * page, MADV_HUGEPAGE);
}

torch::Tensor scaled(const torch::Tensor& values, ByteScale bytes) {
  if (values.scalar_type() != torch::kUInt8 || !values.is_cpu())
    throw_invalid_argument("scaled: expected uint8 on the CPU");
  const torch::Tensor source = values.contiguous();
  torch::Tensor result = torch::empty(source.sizes(), torch::kFloat32);
  scale_bytes(source.data_ptr<std::uint8_t>(), static_cast<std::size_t>(source.numel()), bytes.scale, bytes.shift,
              result.data_ptr<float>());
  return result;
}

torch::Tensor scaled(const torch::Tensor& values, const ImageScale& image) {
  const torch::Tensor source = as_images(values, image);
  torch::Tensor result = torch::empty(source.sizes(), torch::kFloat32);
  const std::int64_t size = source.stride(0);
  for (std::int64_t i = 0; i < source.size(0); ++i) {
    scale_image(source.data_ptr<std::uint8_t>() + i * size, image, result.data_ptr<float>() + i * size);
  }
  return result;
}

void scale_image(const std::uint8_t* from, const ImageScale& image, float* to) {
  const auto plane = static_cast<std::size_t>(image.plane());
  for (const ByteScale& channel : image.channels) {
    scale_bytes(from, plane, channel.scale, channel.shift, to);
    from += plane;
    to += plane;
  }
}

torch::Tensor as_images(const torch::Tensor& values, const ImageScale& image) {
  const auto channels = static_cast<std::int64_t>(image.channels.size());
  if (values.dim() != 2 || values.size(1) != channels * image.plane() || values.scalar_type() != torch::kUInt8 ||
      !values.is_cpu() || !values.is_contiguous()) {
    throw_invalid_argument("images are {} [{}]; expected contiguous Byte [rows, {}] on the CPU",
                           c10::toString(values.scalar_type()), fmt::join(values.sizes(), ", "),
                           channels * image.plane());
  }
  return values.view({values.size(0), channels, image.side, image.side});
}

}  // namespace lehi::data
