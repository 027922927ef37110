// Any loss a user can write as a torch function, without deriving an auxiliary loss by hand: u and the second
// derivatives come from automatic differentiation with respect to the predictions only, so the network is not in that
// graph.
//
// The function returns losses, not their mean: a tensor of the predictions' shape when every output contributes on its
// own (elementwise), or one loss per row when a row's outputs are coupled: shape [rows], or the predictions' shape
// without its last dimension. Rows must not depend on each other. A scalar is refused.
//
//   elementwise            one extra pass gives all second derivatives
//   coupled, few outputs   one extra pass per output, exact (at most `exact_outputs`)
//   coupled, many          Hutchinson's estimate from `samples` random-sign passes; unbiased, not exact
//
// The first evaluation with a curvature probe checks the first two against one more, random-sign pass, and that there
// is curvature: a loss without any, such as the absolute error, is refused with a sentence that says so.
//
// Probes: gradient; imitation and diagonal, both sqrt(|d2l/dp_i^2|); gauss-newton where the curvature is not negative
// (elementwise, or coupled with few outputs). No sampled labels: the function does not say what distribution it models.
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
  std::int64_t samples = 8;         ///< random-sign passes beyond that
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
  std::shared_ptr<std::atomic<bool>> checked_;  ///< the once-only check has passed
};

}  // namespace lehi
