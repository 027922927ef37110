#include "bench/difference.h"

#include <algorithm>
#include <cmath>

namespace lehi::bench {

double largest_difference(const Tensors& a, const Tensors& b) {
  constexpr double least = 1e-3;
  const torch::NoGradGuard no_grad;
  double largest_norm = 0.0;
  for (const auto& tensor : b) largest_norm = std::max(largest_norm, tensor.to(torch::kFloat64).norm().item<double>());
  double largest = a.size() == b.size() ? 0.0 : std::nan("");
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto expected = b[i].to(torch::kFloat64);
    const auto distance = (a[i].to(torch::kFloat64) - expected).norm().item<double>();
    const double norm = std::max(expected.norm().item<double>(), least * largest_norm);
    const double difference = distance == 0.0 ? 0.0 : distance / norm;
    if (!(difference <= largest)) largest = difference;  // NaN stays
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace lehi::bench
