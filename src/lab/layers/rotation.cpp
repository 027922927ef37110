#include "layers/rotation.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kernels/vector_math.h"
#include "layers/dispatch.h"

namespace lehi::layers {

using torch::Tensor;

namespace {

template <class T>
LEHI_CLONES void rotate_head(T* first, T* second, const T* cosine, const T* sine, T sign, std::int64_t half) {
#pragma GCC ivdep  // the halves do not overlap
  for (std::int64_t i = 0; i < half; ++i) {
    const T a = first[i];
    const T b = second[i];
    first[i] = a * cosine[i] - sign * b * sine[i];
    second[i] = b * cosine[i] + sign * a * sine[i];
  }
}

}  // namespace

const RotationTable::Angles& RotationTable::angles(std::int64_t tokens, torch::Dtype dtype) {
  if (!angles_.cosine.defined() || angles_.cosine.size(0) < tokens || angles_.cosine.scalar_type() != dtype) {
    const Tensor angles =
        torch::outer(torch::arange(tokens, torch::kFloat64), torch::tensor(frequencies_, torch::kFloat64));
    angles_ = {angles.cos().to(dtype), angles.sin().to(dtype)};
  }
  return angles_;
}

void rotate(Tensor& values, const RotationTable::Angles& angles, std::int64_t tokens, Rotation direction) {
  const std::int64_t half = angles.cosine.size(1);
  const std::int64_t heads = values.size(1) / (2 * half);
  constexpr std::int64_t grain = 16;
  by_dtype(values, [&]<class T>(T) {
    const T sign = direction == Rotation::forward ? T(1) : T(-1);
    at::parallel_for(0, values.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        T* head = values.data_ptr<T>() + row * values.size(1);
        const std::int64_t place = row % tokens * half;
        for (std::int64_t h = 0; h < heads; ++h, head += 2 * half) {
          rotate_head<T>(head, head + half, angles.cosine.data_ptr<T>() + place, angles.sine.data_ptr<T>() + place,
                         sign, half);
        }
      }
    });
  });
}

}  // namespace lehi::layers
