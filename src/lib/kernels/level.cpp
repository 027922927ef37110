#include "kernels/level.h"

#include "kernels/vector_math.h"

namespace lehi::kernels {

Level loop_level() {
#if defined(LEHI_LEVEL) && LEHI_LEVEL == 3
  return Level::v3;
#elif defined(LEHI_LEVELS) && !defined(LEHI_LEVEL)
  if (__builtin_cpu_supports("x86-64-v4")) return Level::v4;
  if (__builtin_cpu_supports("x86-64-v3")) return Level::v3;
#endif
  return Level::baseline;
}

}  // namespace lehi::kernels
