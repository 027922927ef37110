// A loss from any torch function, without an auxiliary loss derived by hand: u and the second derivatives come from
// automatic differentiation with respect to the predictions only. The network is not part of that graph.
//
// The function returns losses, not their mean: a tensor of the predictions' shape if every output contributes
// independently (elementwise), or one loss per row if the outputs of a row are coupled: shape [rows], or the
// predictions' shape without the last dimension. Rows must not depend on each other. Returning a scalar is an error.
//
//   elementwise            one extra backward pass gives all second derivatives
//   coupled, few outputs   one extra backward pass per output, exact (at most `exact_outputs`)
//   coupled, many          Hutchinson's estimate from `samples` backward passes with random signs: unbiased, not exact
//
// The first evaluation with a curvature probe checks the first two against one more backward pass with random signs,
// and throws for a loss without curvature, such as the absolute error.
//
// Probes: gradient; imitation and diagonal, both sqrt(|d2l/dp_i^2|); gauss-newton where the curvature is not negative
// (elementwise, or coupled with few outputs). No sampled-label: the distribution that the function models is unknown.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "lehi/loss.h"

namespace lehi {

struct AutomaticOptions {
  std::string name = "automatic";
  std::int64_t exact_outputs = 64;  ///< up to this many coupled outputs the diagonal is exact
  std::int64_t samples = 8;         ///< backward passes with random signs for more outputs
};

class Automatic final : public Loss {
 public:
  using Function = std::function<torch::Tensor(const torch::Tensor& predictions, const torch::Tensor& targets)>;

  explicit Automatic(Function function, AutomaticOptions options = {});

  std::string name() const override { return options_.name; }
  bool supports(Probe probe) const override;
  torch::Tensor second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const override;
  torch::Tensor hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const override;

 protected:
  void compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
               Evaluation& out) const override;

 private:
  Function function_;
  AutomaticOptions options_;
  std::shared_ptr<std::atomic<bool>> checked_;  ///< the one-time check has passed
};

}  // namespace lehi
