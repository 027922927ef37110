// Elementwise losses: value, u and v of every element in one pass.
//
// Everything is computed in float64, whatever the arrays hold. The values of fixed chunks are added in order, so that
// the sum does not depend on the number of threads.
#pragma once

#include <cstdint>

#include "kernels/elementwise_formulas.h"
#include "kernels/parallel.h"
#include "lehi/probe.h"

namespace lehi::kernels {

/// Input and output arrays of `size` entries, a whole number of rows of `outputs` entries.
template <class T>
struct ElementwiseBatch {
  const T* predictions = nullptr;
  const T* targets = nullptr;
  T* u = nullptr;
  T* v = nullptr;  ///< may be null with Probe::gradient
  std::int64_t size = 0;
  std::int64_t outputs = 1;
  Probe probe = Probe::gradient;
  RandomKey key = {};
};

struct ElementwiseResult {
  double sum = 0.0;
  std::int64_t bad_prediction = -1;  ///< flat index of the first that is not finite, or -1
  std::int64_t bad_target = -1;      ///< flat index of the first that the formula does not accept, or -1
};

/// Writes u and, unless the probe is `gradient`, v. When there is a bad prediction or target, sum, u and v are
/// unspecified.
ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseBatch<float>& batch,
                              const ParallelFor& parallel = {});
ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseBatch<double>& batch,
                              const ParallelFor& parallel = {});

/// l'' of every element.
void elementwise_second(const ElementwiseFormula& formula, const float* predictions, const float* targets,
                        std::int64_t size, float* out);
void elementwise_second(const ElementwiseFormula& formula, const double* predictions, const double* targets,
                        std::int64_t size, double* out);

}  // namespace lehi::kernels
