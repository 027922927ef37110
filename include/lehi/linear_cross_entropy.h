// A linear layer without bias and the cross-entropy of its outputs, computed together in chunks of rows. The logits of
// all rows are never in memory at once; with 50,257 classes they would be the largest tensor of a language model.
//
//   lehi::LinearCrossEntropy loss(model->wte->weight);            // [classes, width]; may be tied to the embedding
//   lehi::Lehi optimizer(model->parameters(), ...);               // the weight is one of them
//   optimizer.step(model->hidden(tokens), loss, targets);         // hidden values [..., width], targets [...]
//
// Equal to CrossEntropy of the logits hidden W^T, up to rounding. With u and v of the logits as in
// lehi/cross_entropy.h, Evaluation::gradient and probe are W^T u and W^T v of each row, and the weight's own parts of g
// and s, sum u h^T and sum v h^T, are parameter_gradients and parameter_probes. Random probes do not
// depend on the chunks.
#pragma once

#include <cstdint>

#include "lehi/cross_entropy.h"

namespace lehi {

class LinearCrossEntropy final : public Loss {
 public:
  /// weight: [classes, width]; of 16 bits, a float32 copy is made for each call. chunk_rows: rows per chunk; 0 for
  /// chunks of 2^24 logits.
  explicit LinearCrossEntropy(torch::Tensor weight, CrossEntropyOptions options = {}, std::int64_t chunk_rows = 0);

  std::string name() const override { return "linear-cross-entropy"; }
  bool supports(Probe probe) const override { return head_.supports(probe); }
  std::vector<torch::Tensor> parameters() const override { return {weight_}; }

  /// With respect to the hidden values; the diagonal is c (sum_k s_k W_kj^2 - (sum_k s_k W_kj)^2).
  torch::Tensor second_derivatives(const torch::Tensor& hidden, const torch::Tensor& targets) const override;
  torch::Tensor hessian(const torch::Tensor& hidden, const torch::Tensor& targets) const override;

  /// Sum and count only, for evaluation: no gradients of hidden values and weight.
  Evaluation value(const torch::Tensor& hidden, const torch::Tensor& targets) const;

 protected:
  void compute(const torch::Tensor& hidden, const torch::Tensor& targets, const ProbeRequest& request,
               Evaluation& out) const override;

 private:
  // Calls visit(first row, rows of hidden values, the loss of their logits) for each chunk; sums go to `out`.
  template <class Visit>
  void for_each_chunk(const torch::Tensor& hidden, const torch::Tensor& weight, const torch::Tensor& targets,
                      const ProbeRequest& request, Evaluation& out, Visit&& visit) const;

  torch::Tensor weight_;
  CrossEntropy head_;
  std::int64_t chunk_rows_;
};

}  // namespace lehi
