// The three largest logits of a long row, in one pass.
#pragma once

#include <cstdint>

namespace lehi::kernels {

/// The three largest values m >= p2 >= p3, and the indices of the first two. Equal entries count separately.
struct LargestLogits {
  std::int64_t top = 0;
  std::int64_t second = 0;
  float m = 0.0F;
  float p2 = 0.0F;
  float p3 = 0.0F;
  bool finite = true;  ///< false when a logit is NaN or infinite; everything else is then unspecified
};

/// Of p[0..n), n >= 3. Of equal logits the first ones are taken.
LargestLogits largest_logits(const float* p, std::int64_t n);

}  // namespace lehi::kernels
