// Softmax cross-entropy on logits p: l = -a^T p + c logsumexp(p) per row, with s = softmax(p), a_i = w_i y_i (w the
// class weights, y the target) and c = sum_i a_i (1 without class weights).
//
//   u              = c s - a
//   d2l/dp2        = c (diag(s) - s s^T)
//   imitation      = sqrt(c) (r_i - s_i sum_k r_k), r_i = sqrt(s_i / (1 - s_i)): the exact gradient of
//                    z = sum_i arcsin(2 s_i - 1), evaluated without cancellation
//   diagonal       = sqrt(c s_i (1 - s_i))
//   gauss-newton   = sqrt(c) (q - s (sum_k sqrt(s_k) r_k)), q_i = sqrt(s_i) r_i, r_i = +-1
//   sampled-label  = sqrt(c) (s - onehot(label drawn from s))
// With Scale::mean, sqrt(c) becomes c (see lehi/probe.h); the sampled-label vector is then dl/dp at the drawn label.
//
// Predictions are [..., C]. Targets are either class indices, int64 of shape [...], or probabilities with the
// predictions' shape and dtype, each row non-negative with sum 1. Classes are the last dimension; torch's layout [N, C,
// d1, ...] needs predictions.movedim(1, -1). As in torch, the mean divides by the total class weight of the counted
// rows for indices, and by the number of rows for probabilities.
//
// With two classes z is identically zero, so the imitation probe is 0 and LEHI becomes momentum with rate lr/sqrt(eps).
// There is a warning, once; use BinaryCrossEntropy on one logit instead.
#pragma once

#include <cstdint>

#include "lehi/loss.h"

namespace lehi {

struct CrossEntropyOptions {
  double label_smoothing = 0.0;      ///< in [0, 1): y <- (1 - a) y + a / C
  torch::Tensor class_weights = {};  ///< [C], finite and >= 0; undefined: all 1
  std::int64_t ignore_index = -100;  ///< rows with this class index are ignored
};

class CrossEntropy final : public Loss {
 public:
  explicit CrossEntropy(CrossEntropyOptions options = {});

  std::string name() const override { return "cross-entropy"; }
  bool supports(Probe probe) const override;
  torch::Tensor second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const override;
  torch::Tensor hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const override;
  const CrossEntropyOptions& options() const { return options_; }

 protected:
  void compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
               Evaluation& out) const override;

 private:
  CrossEntropyOptions options_;
};

}  // namespace lehi
