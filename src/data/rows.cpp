#include "model/mlp_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/message.h"

namespace lehi::model {
namespace {

constexpr std::int64_t ahead = 4;             // rows
constexpr std::size_t fetch_distance = 1024;  // bytes; the hardware goes on from there by itself

void fetch(const std::byte* row, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += fetch_distance) __builtin_prefetch(row + at);
}

}  // namespace

void take_rows(const torch::Tensor& from, const torch::Tensor& rows, torch::Tensor& to) {
  if (from.dim() < 1 || !from.is_cpu() || !from.is_contiguous() || rows.dim() != 1 || !rows.is_cpu() ||
      rows.scalar_type() != torch::kInt64) {
    refuse("take_rows: expected a contiguous tensor with rows and a vector of int64 indices, both on the CPU");
  }
  const std::int64_t count = rows.numel();
  const torch::Tensor contiguous = rows.contiguous();
  const auto* index = contiguous.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= from.size(0)) {
      refuse("take_rows: index {} is {}; expected 0 to {}", i, index[i], from.size(0) - 1);
    }
  }
  auto sizes = from.sizes().vec();
  sizes.front() = count;
  const bool reusable = to.defined() && to.dtype() == from.dtype() && to.is_cpu() && to.is_contiguous();
  to = reusable ? to.resize_(sizes) : torch::empty(sizes, from.options().requires_grad(false));
  if (from.numel() == 0 || count == 0) return;

  const std::size_t bytes = from.nbytes() / static_cast<std::size_t>(from.size(0));
  const auto* source = static_cast<const std::byte*>(from.data_ptr());
  auto* target = static_cast<std::byte*>(to.data_ptr());
  const auto row = [&](std::int64_t i) { return source + static_cast<std::size_t>(index[i]) * bytes; };
  for (std::int64_t i = 0; i < std::min(ahead, count); ++i) fetch(row(i), bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + ahead < count) fetch(row(i + ahead), bytes);
    std::memcpy(target + static_cast<std::size_t>(i) * bytes, row(i), bytes);
  }
}

}  // namespace lehi::model
