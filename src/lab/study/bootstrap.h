// How sure the mean of a few numbers is, without assuming a distribution: the percentile bootstrap (Efron 1979). The
// means of all samples of size n that can be drawn with replacement are a distribution; the interval leaves out 2.5 %
// at each side.
//
// Its weakness is few numbers. With n = 3 each of the extreme samples (three times the same number) has probability
// 1/27 = 3.7 %, so the interval is just [smallest, largest], and for symmetric errors it misses the true mean in at
// least one case of four (all three on one side: 2/8), not in one of twenty. Student's t is exact for normal errors at
// any n. So studies show both, and verdicts follow Student's.
#pragma once

#include <cstddef>
#include <vector>

namespace lehi::study {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// Up to so many numbers every resample is counted, which is exact; beyond, kResamples are drawn.
inline constexpr std::size_t kExactBootstrap = 10;
inline constexpr std::size_t kResamples = 10'000;

/// For the mean of `values`; NaN with fewer than two. The same values, in any order, give the same interval.
Interval bootstrap_mean(std::vector<double> values, double confidence = 0.95);

}  // namespace lehi::study
