#include "layers/dropout.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "kernels/philox.h"
#include "layers/dispatch.h"

namespace lehi::layers {
namespace {

constexpr std::uint32_t dropout_purpose = 16;  // different from those of kernels/draws.h

std::uint32_t low_word(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high_word(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }

}  // namespace

Dropout::Dropout(double probability, const RandomKey& key, std::uint32_t site)
    : probability_(probability), first_row_(key.first_row) {
  const kernels::PhiloxBlock derived = kernels::philox({low_word(key.step), high_word(key.step), dropout_purpose, site},
                                                       {low_word(key.seed), high_word(key.seed)});
  key0_ = derived[0];
  key1_ = derived[1];
}

template <class T>
void Dropout::factors(std::int64_t row, std::int64_t first, std::int64_t count, T* out) const {
  const auto threshold = static_cast<std::uint64_t>(std::ldexp(probability_, 32));
  const T kept = static_cast<T>(1.0 / (1.0 - probability_));
  const std::uint64_t global = first_row_ + static_cast<std::uint64_t>(row);
  const std::int64_t end = first + count;
  for (std::int64_t place = first; place < end;) {  // a block of random words serves four positions
    const auto words = kernels::philox(
        {low_word(global), high_word(global), static_cast<std::uint32_t>(place / 4), dropout_purpose}, {key0_, key1_});
    const std::int64_t next = std::min(end, place / 4 * 4 + 4);
    for (; place < next; ++place) *out++ = words[static_cast<std::size_t>(place % 4)] < threshold ? T(0) : kept;
  }
}

torch::Tensor Dropout::mask(at::IntArrayRef sizes, const torch::TensorOptions& options) const {
  if (!active()) return {};
  torch::Tensor mask = torch::empty(sizes, options);
  const std::int64_t places = mask.numel() / mask.size(0);
  by_dtype(mask, [&]<class T>(T) {
    at::parallel_for(0, mask.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) factors(row, 0, places, mask.data_ptr<T>() + row * places);
    });
  });
  return mask;
}

template void Dropout::factors(std::int64_t, std::int64_t, std::int64_t, float*) const;
template void Dropout::factors(std::int64_t, std::int64_t, std::int64_t, double*) const;

}  // namespace lehi::layers
