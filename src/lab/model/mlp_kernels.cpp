// Compiles the loops once for each instruction set and chooses between them at run time.
#include "model/mlp_kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/level.h"

// Arrays of vector registers, and the same calls for each instruction set.
// NOLINTBEGIN(modernize-avoid-c-arrays,cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

namespace lehi::model {
namespace {

// Inner indices a block: a panel of three vectors then fits into the L2 cache, and few tiles are loaded twice.
constexpr std::int64_t inner_block = 1024;
// Rows a block where inactive ones are skipped.
constexpr std::int64_t active_block = 128;

// A row of the batch in which a unit is active, and the unit's two deltas in it.
template <class T>
struct Active {
  std::int32_t row;
  T first;
  T second;
};

namespace baseline {
constexpr int vector_bytes = 16;
struct Tile {
  static constexpr int rows[] = {0, 8, 4, 3};
  static constexpr int active_vectors = 4;
};
#include "model/mlp_kernels_body.h"
}  // namespace baseline

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if !defined(LEHI_LEVEL) || LEHI_LEVEL == 3  // in tests LEHI_LEVEL selects one level (vector_math.h)
#define LEHI_AVX2
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace avx2 {
constexpr int vector_bytes = 32;
struct Tile {
  static constexpr int rows[] = {0, 12, 6, 4};
  static constexpr int active_vectors = 6;
};
#include "model/mlp_kernels_body.h"
}  // namespace avx2
#pragma GCC pop_options
#endif

#ifndef LEHI_LEVEL
#define LEHI_AVX512
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
namespace avx512 {
constexpr int vector_bytes = 64;
struct Tile {
  static constexpr int rows[] = {0, 12, 12, 8};
  static constexpr int active_vectors = 4;
};
#include "model/mlp_kernels_body.h"
}  // namespace avx512
#pragma GCC pop_options
#endif
#endif

#ifdef LEHI_AVX512
using kernels::Level;

Level level() {
  static const Level best = kernels::loop_level();
  return best;
}
#endif

}  // namespace

#ifdef LEHI_AVX512
#define LEHI_DISPATCH(call)                      \
  if (level() == Level::v4) return avx512::call; \
  if (level() == Level::v3) return avx2::call;   \
  return baseline::call
#elif defined(LEHI_AVX2)
#define LEHI_DISPATCH(call) return avx2::call
#else
#define LEHI_DISPATCH(call) return baseline::call
#endif

void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& part) {
  at::parallel_for(0, count, grain, part);
}

template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
              std::int64_t result_row) {
  LEHI_DISPATCH(multiply(rows, columns, inner, left, right, result, result_row));
}

template <class T>
void multiply_active(std::int64_t rows, std::int64_t units, std::int64_t columns, std::int64_t row,
                     const T* activations, const T* deltas, const T* inputs, T* result) {
  const auto places = static_cast<std::size_t>(units * std::min(rows, active_block));
  // Not cleared: only entries that were written are read.
  const std::unique_ptr<Active<T>[]> lists(new Active<T>[places]);
  const std::unique_ptr<std::int64_t[]> counts(new std::int64_t[static_cast<std::size_t>(units)]);
  LEHI_DISPATCH(
      multiply_active(rows, units, columns, row, activations, deltas, inputs, result, lists.get(), counts.get()));
}

template <class T>
void add_bias(std::int64_t rows, std::int64_t columns, const T* bias, bool relu, T* values) {
  LEHI_DISPATCH(add_bias(rows, columns, bias, relu, values));
}

template <class T>
void mask(std::int64_t rows, std::int64_t copies, std::int64_t columns, const T* activations, T* deltas) {
  LEHI_DISPATCH(mask(rows, copies, columns, activations, deltas));
}

template <class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* values, T* sums) {
  LEHI_DISPATCH(column_sums(rows, columns, values, sums));
}

#define LEHI_INSTANTIATE(T)                                                                                    \
  template void multiply<T>(std::int64_t, std::int64_t, std::int64_t, Matrix<T>, Matrix<T>, T*, std::int64_t); \
  template void multiply_active<T>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const T*, const T*, \
                                   const T*, T*);                                                              \
  template void add_bias<T>(std::int64_t, std::int64_t, const T*, bool, T*);                                   \
  template void mask<T>(std::int64_t, std::int64_t, std::int64_t, const T*, T*);                               \
  template void column_sums<T>(std::int64_t, std::int64_t, const T*, T*)
LEHI_INSTANTIATE(float);
LEHI_INSTANTIATE(double);

}  // namespace lehi::model

// NOLINTEND(modernize-avoid-c-arrays,cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
