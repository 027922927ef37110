// Power of the paired t test (two-sided, at 5 %): how many seeds find a difference of a given size.
#pragma once

#include <cstddef>
#include <optional>

namespace lehi::report {

/// The probability that the test on `pairs` >= 2 differences finds a mean difference of `size` standard deviations of
/// the differences.
double paired_power(std::size_t pairs, double size);

/// The smallest number of pairs with at least this power; nothing above 100,000 pairs.
std::optional<std::size_t> pairs_needed(double size, double power = 0.8);

/// The smallest mean difference found with this power, in standard deviations of the differences; `pairs` >= 2.
double detectable_size(std::size_t pairs, double power = 0.8);

}  // namespace lehi::report
