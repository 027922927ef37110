#include "layers/normalisation.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "kernels/vector_math.h"
#include "layers/dispatch.h"

namespace lehi::layers {

using torch::Tensor;

namespace {

// Rows a partial sum of the weight's gradient has. Fixed, so that the sums don't depend on the number of threads.
constexpr std::int64_t norm_chunk = 32;

// Sums have type Sum. Returns false where they are not finite.
template <class Sum, class T>
LEHI_INLINE bool sum_statistics(const T* x, std::int64_t width, bool centred, T eps, T* statistics) {
  const Sum count = static_cast<Sum>(width);
  const auto entry = [x](std::int64_t i) __attribute__((always_inline)) { return static_cast<Sum>(x[i]); };
  const Sum mean = !centred ? Sum(0) : kernels::lane_sum<Sum>(width, entry) / count;
  const auto term = [=](std::int64_t i) __attribute__((always_inline)) {
    return (entry(i) - mean) * (entry(i) - mean);
  };
  const Sum square = kernels::lane_sum<Sum>(width, term) / count;
  statistics[0] = static_cast<T>(mean);
  statistics[1] = static_cast<T>(Sum(1) / std::sqrt(square + static_cast<Sum>(eps)));
  return std::isfinite(square);
}

template <class T>
LEHI_CLONES void find_statistics(const T* x, std::int64_t width, bool centred, T eps, T* statistics) {
  if (sum_statistics<T>(x, width, centred, eps, statistics)) return;
  // In float32 the squares overflow: r and the whole row would become 0.
  sum_statistics<double>(x, width, centred, eps, statistics);
}

template <class T>
LEHI_CLONES void normalise_row(const T* x, std::int64_t width, const T* weight, const T* bias, const T* statistics,
                               T* y) {
  const T mean = statistics[0];
  const T r = statistics[1];
  if (bias == nullptr) {
    for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * r * weight[i];
  } else {
    for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - mean) * r * weight[i] + bias[i];
  }
}

// With n = (x - mean) r and d = w dy: dx = r (d - mean(d) - n mean(n d)), without mean(d) in the rms norm. The row adds
// n dy to dw and dy to db.
template <class T>
LEHI_CLONES void pull_back_row(const T* x, std::int64_t width, const T* weight, const T* statistics, bool centred,
                               const T* dy, T* dx, T* dw, T* db) {
  const T count = static_cast<T>(width);
  const T mean = statistics[0];
  const T r = statistics[1];
  const T along_one =
      centred ? kernels::lane_sum<T>(width, [=](std::int64_t i) { return weight[i] * dy[i]; }) / count : T(0);
  const T along_n =
      kernels::lane_sum<T>(width, [=](std::int64_t i) { return weight[i] * dy[i] * ((x[i] - mean) * r); }) / count;
#pragma GCC ivdep  // the tensors do not overlap
  for (std::int64_t i = 0; i < width; ++i) {
    const T n = (x[i] - mean) * r;
    dx[i] += r * (weight[i] * dy[i] - along_one - n * along_n);
    dw[i] += n * dy[i];
  }
  if (!centred) return;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < width; ++i) db[i] += dy[i];
}

}  // namespace

Normalised normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const std::int64_t rows = x.size(0);
  const std::int64_t width = x.size(1);
  const Tensor statistics = torch::empty({rows, 2}, x.options());
  by_dtype(x, [&]<class T>(T) {
    at::parallel_for(0, rows, norm_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        find_statistics<T>(x.data_ptr<T>() + row * width, width, bias.defined(), static_cast<T>(eps),
                           statistics.data_ptr<T>() + 2 * row);
      }
    });
  });
  return {recompute_normalised(x, statistics, weight, bias), statistics};
}

Tensor recompute_normalised(const Tensor& x, const Tensor& statistics, const Tensor& weight, const Tensor& bias) {
  const std::int64_t width = x.size(1);
  Tensor y = torch::empty_like(x);
  by_dtype(x, [&]<class T>(T) {
    const T* shift = bias.defined() ? bias.data_ptr<T>() : nullptr;
    at::parallel_for(0, x.size(0), norm_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        normalise_row<T>(x.data_ptr<T>() + row * width, width, weight.data_ptr<T>(), shift,
                         statistics.data_ptr<T>() + 2 * row, y.data_ptr<T>() + row * width);
      }
    });
  });
  return y;
}

NormGradients pull_back_normalise(const Tensor& x, const Tensor& statistics, const Tensor& weight, bool has_bias,
                                  const Tensor& cotangents, Tensor& to) {
  const std::int64_t rows = x.size(0);
  const std::int64_t width = x.size(1);
  const std::int64_t chunks = (rows + norm_chunk - 1) / norm_chunk;
  const std::int64_t count = cotangents.size(0) / rows;
  const std::int64_t sums = has_bias ? 2 : 1;
  const Tensor partial = torch::zeros({count, chunks, sums, width}, x.options());
  by_dtype(x, [&]<class T>(T) {
    T* parts = partial.data_ptr<T>();
    at::parallel_for(0, count * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task % chunks * norm_chunk;
        const std::int64_t last = std::min(rows, first + norm_chunk);
        const std::int64_t offset = task / chunks * rows;
        T* dw = parts + task * sums * width;
        for (std::int64_t row = first; row < last; ++row) {
          const std::int64_t place = (offset + row) * width;
          pull_back_row<T>(x.data_ptr<T>() + row * width, width, weight.data_ptr<T>(),
                           statistics.data_ptr<T>() + 2 * row, has_bias, cotangents.data_ptr<T>() + place,
                           to.data_ptr<T>() + place, dw, dw + width);
        }
      }
    });
  });
  NormGradients result;
  const Tensor total = partial.sum(1);
  for (std::int64_t c = 0; c < count; ++c) {
    result.weights.push_back(total[c][0]);
    if (has_bias) result.biases.push_back(total[c][1]);
  }
  return result;
}

}  // namespace lehi::layers
