// One set of loops for each instruction set, and the choice between them.
#include "model/mlp_kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace lehi::model {
namespace {

// Inner indices at a time: a panel of three vectors then stays in the second cache, and few tiles are taken up twice.
constexpr std::int64_t inner_block = 1024;
// Rows at a time where inactive ones are passed over.
constexpr std::int64_t active_block = 128;

// A row of the batch in which a unit is active, and the unit's two deltas there.
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
#define LEHI_MANY_TARGETS
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

enum class Target : std::uint8_t { baseline, avx2, avx512 };

Target best_target() {
#ifdef LEHI_MANY_TARGETS
  if (__builtin_cpu_supports("x86-64-v4")) return Target::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Target::avx2;
#endif
  return Target::baseline;
}

Target target() {
  static const Target best = best_target();
  return best;
}

}  // namespace

#ifdef LEHI_MANY_TARGETS
#define LEHI_DISPATCH(call)                            \
  if (target() == Target::avx512) return avx512::call; \
  if (target() == Target::avx2) return avx2::call;     \
  return baseline::call
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
  const auto lists = std::make_unique_for_overwrite<Active<T>[]>(places);
  const auto counts = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(units));
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
