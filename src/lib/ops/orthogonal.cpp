#include "ops/orthogonal.h"

namespace lehi::ops {

using torch::Tensor;

Tensor orthogonal(const Tensor& matrix) {
  constexpr int iterations = 5;
  constexpr double a = 3.4445;
  constexpr double b = -4.775;
  constexpr double c = 2.0315;
  const bool tall = matrix.size(0) > matrix.size(1);  // A is of the shorter side
  Tensor x = tall ? matrix.t() : matrix;
  x = x / x.norm().clamp_min(1e-7);
  for (int i = 0; i < iterations; ++i) {
    const Tensor gram = torch::mm(x, x.t());
    const Tensor polynomial = torch::addmm(gram, gram, gram, b, c);
    x = torch::addmm(x, polynomial, x, a);
  }
  return tall ? x.t() : x;
}

}  // namespace lehi::ops
