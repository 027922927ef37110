// The largest logits of a long row, in one pass over it.
#pragma once

#include <cstdint>

namespace lehi::kernels {

/// The values of the three largest, equal ones counted one by one, and where the first two are.
struct LargestLogits {
  std::int64_t top = 0;
  std::int64_t second = 0;
  float m = 0.0F;
  float p2 = 0.0F;
  float p3 = 0.0F;
  bool finite = true;  ///< false when a logit is NaN or infinite: the rest then means nothing
};

/// Of p[0..n), n at least 3. Among equal logits those that come first.
LargestLogits largest_logits(const float* p, std::int64_t n);

}  // namespace lehi::kernels
