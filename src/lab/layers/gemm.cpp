#include "layers/gemm.h"

#include <dlfcn.h>
#include <torch/types.h>

namespace lehi::layers {
namespace {

template <class T>
using Gemm = void(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
                  const T* alpha, const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c,
                  const int* ldc);

template <class T>
Gemm<T>* loaded_gemm() {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how POSIX defines dlsym for functions
  return reinterpret_cast<Gemm<T>*>(dlsym(RTLD_DEFAULT, sizeof(T) == sizeof(float) ? "sgemm_" : "dgemm_"));
}

template <class T>
torch::Tensor factor_tensor(std::int64_t rows, std::int64_t columns, Factor<T> factor) {
  const auto make = [&](std::int64_t height, std::int64_t width) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): from_blob() has no form for const; a factor is only read
    return torch::from_blob(const_cast<T*>(factor.data), {height, width}, {factor.stride, 1},
                            c10::CppTypeToScalarType<T>::value);
  };
  return factor.transposed ? make(columns, rows).t() : make(rows, columns);
}

}  // namespace

template <class T>
void multiply_add(std::int64_t rows, std::int64_t columns, std::int64_t inner, T scale, Factor<T> left, Factor<T> right,
                  T keep, T* result, std::int64_t result_stride) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a function
  static Gemm<T>* const gemm = loaded_gemm<T>();
  if (gemm == nullptr) {  // LibTorch does not export its BLAS's symbols
    torch::from_blob(result, {rows, columns}, {result_stride, 1}, c10::CppTypeToScalarType<T>::value)
        .addmm_(factor_tensor(rows, inner, left), factor_tensor(inner, columns, right), keep, scale);
    return;
  }
  // BLAS is column-major: to it our matrices are transposed, so it multiplies the factors in reverse order.
  const int m = static_cast<int>(columns);
  const int n = static_cast<int>(rows);
  const int k = static_cast<int>(inner);
  const int left_stride = static_cast<int>(left.stride);
  const int right_stride = static_cast<int>(right.stride);
  const int stride = static_cast<int>(result_stride);
  gemm(right.transposed ? "T" : "N", left.transposed ? "T" : "N", &m, &n, &k, &scale, right.data, &right_stride,
       left.data, &left_stride, &keep, result, &stride);
}

template void multiply_add(std::int64_t, std::int64_t, std::int64_t, float, Factor<float>, Factor<float>, float, float*,
                           std::int64_t);
template void multiply_add(std::int64_t, std::int64_t, std::int64_t, double, Factor<double>, Factor<double>, double,
                           double*, std::int64_t);

}  // namespace lehi::layers
