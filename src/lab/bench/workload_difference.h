// Checks the timed models against the same models in plain torch.
#pragma once

#include <string>

namespace lehi::bench {

/// The largest relative difference over the parameters between g and s of our network and those of autograd through the
/// plain model, from the same u and v. The models have the real widths, but few layers or rows. `name` is "gpt2",
/// "resnet" or "mnist".
double workload_difference(const std::string& name);

/// Tolerance for workload_difference(): float32 sums of a few thousand terms in another order.
inline constexpr double workload_tolerance = 1e-4;

}  // namespace lehi::bench
