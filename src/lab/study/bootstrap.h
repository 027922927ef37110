// Confidence interval of a mean without assuming a distribution: the percentile bootstrap (Efron 1979). The means of
// all samples of size n drawn with replacement form a distribution; a 95 % interval omits 2.5 % on each side.
//
// It is too narrow for few values. With n = 3 each extreme sample (three times the same value) has probability
// 1/27 = 3.7 %, so the interval is [smallest, largest], and for symmetric errors it misses the true mean in at least
// one case of four (all three values on one side: 2/8) instead of one of twenty. Student's t is exact for normal errors
// and any n. So studies show both, and verdicts follow Student's t.
#pragma once

#include <vector>

namespace lehi::study {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// The interval of the mean of `values`; NaN with fewer than two or one that is not finite. Does not depend on the
/// order of the values. Up to ten values it is exact (all resamples are counted); beyond, 10,000 resamples are drawn,
/// always the same ones.
Interval bootstrap_mean(std::vector<double> values, double confidence = 0.95);

}  // namespace lehi::study
