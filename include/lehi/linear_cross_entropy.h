// A linear layer without bias and the cross-entropy of its outputs, computed together in chunks of rows, so that the
// logits of all rows never exist: with 50,257 classes they would be the largest tensor of a language model.
//
//   lehi::LinearCrossEntropy loss(model->wte->weight);            // [classes, width]; may be tied to the embedding
//   lehi::Lehi optimizer(model->parameters(), ...);               // the weight is one of them
//   optimizer.step(model->hidden(tokens), loss, targets);         // hidden values [..., width], targets [...]
//
// It is CrossEntropy(hidden W^T), to rounding: u and v of the logits are those of lehi/cross_entropy.h, and what
// evaluate() gives as gradient and probe are W^T u and W^T v of each row. The weight's own parts of g and s,
// sum u h^T and sum v h^T, are its parameter_gradients and parameter_probes. Random probes draw by row and class, so
// that chunks change nothing.
#pragma once

#include <cstdint>

#include "lehi/cross_entropy.h"

namespace lehi {

class LinearCrossEntropy final : public Loss {
 public:
  /// weight: [classes, width], float32 or float64. chunk_rows: 0 for as many as keep a chunk's logits near 64 MB.
  explicit LinearCrossEntropy(torch::Tensor weight, CrossEntropyOptions options = {}, std::int64_t chunk_rows = 0);

  std::string name() const override { return "linear-cross-entropy"; }
  bool supports(Probe probe) const override { return head_.supports(probe); }
  std::vector<torch::Tensor> parameters() const override { return {weight_}; }

  /// With respect to the hidden values: sum_k s_k W_kj^2 - (sum_k s_k W_kj)^2, times the row's weight.
  torch::Tensor second_derivatives(const torch::Tensor& hidden, const torch::Tensor& targets) const override;
  torch::Tensor hessian(const torch::Tensor& hidden, const torch::Tensor& targets) const override;

  /// Sum and count alone, for evaluation: no pull-back to hidden values and weight.
  Evaluation value(const torch::Tensor& hidden, const torch::Tensor& targets) const;

 protected:
  void compute(const torch::Tensor& hidden, const torch::Tensor& targets, const ProbeRequest& request,
               Evaluation& out) const override;

 private:
  // Calls visit(first row, rows of hidden values, the loss of their logits) for each chunk; sums go to `out`.
  template <class Visit>
  void for_each_chunk(const torch::Tensor& hidden, const torch::Tensor& targets, const ProbeRequest& request,
                      Evaluation& out, Visit&& visit) const;

  void make_workspace(std::vector<torch::Tensor>& workspace, std::size_t count, std::int64_t chunk_rows) const;

  torch::Tensor weight_;
  CrossEntropy head_;
  std::int64_t chunk_rows_;
};

}  // namespace lehi
