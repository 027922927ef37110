// The interface of all losses: value, u = dl/dp and a probe vector v from one pass over the predictions p.
//
// Rows and outputs: predictions of shape [N] are N rows of one output; predictions of shape [..., C] have C outputs per
// row, and all other dimensions index rows. A loss is a sum over the outputs of a row and a mean over rows.
// Losses never broadcast: predictions and targets must have exactly the documented shapes. They never build an autograd
// graph: evaluate() reads the values of the predictions only. bfloat16 and float16 predictions are computed with in
// float32; u and v come back in their type.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/probe.h"

namespace lehi {

/// Result of a loss for a batch: sums over rows, not yet divided, so that micro-batches can be added.
struct Evaluation {
  double sum = 0.0;        ///< sum of the losses of the rows, row weights included
  double count = 0.0;      ///< divisor of the mean: number of counted rows, or their total class weight
  std::int64_t rows = 0;   ///< all rows, ignored ones included; advances RandomKey::first_row
  torch::Tensor gradient;  ///< u: d(sum)/dp, shape and dtype of the predictions
  torch::Tensor probe;     ///< v, unscaled; undefined if the requested probe was `gradient`
  /// d(sum)/dw and (dp/dw)^T v for each of Loss::parameters(), at least float32; empty if there are none.
  std::vector<torch::Tensor> parameter_gradients;
  std::vector<torch::Tensor> parameter_probes;
  /// Internal buffers of the loss, kept for the next call: allocating them costs more than filling them.
  std::vector<torch::Tensor> workspace;
  /// u and v of 16-bit predictions in float32, as they are computed; kept for the next call, too.
  torch::Tensor wide_gradient;
  torch::Tensor wide_probe;

  /// The mean loss; NaN if every row was ignored.
  double mean() const { return sum / count; }
};

class Loss {
 public:
  virtual ~Loss() = default;

  /// The name as on the command line, e.g. "cross-entropy".
  virtual std::string name() const = 0;

  /// True if evaluate() can compute this probe. Always true for `gradient`.
  virtual bool supports(Probe probe) const = 0;

  /// Weights that the loss itself applies to the predictions (LinearCrossEntropy). The optimizer adds their part of g
  /// and s to that of the network, which may use the same weights (weight tying).
  virtual std::vector<torch::Tensor> parameters() const { return {}; }

  /// Value, gradient and, if requested, probe. Tensors in `out` are reused if shape, dtype and device fit.
  /// Throws std::invalid_argument for wrong shapes, dtypes, devices, targets or an unsupported probe, and
  /// NonFiniteError for NaN or infinite predictions.
  void evaluate(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                Evaluation& out) const;

  Evaluation evaluate(const torch::Tensor& predictions, const torch::Tensor& targets,
                      const ProbeRequest& request = {}) const;

  /// d2l/dp_i^2 of each row's loss (row weights included), shape of the predictions, at least float32. May be negative.
  virtual torch::Tensor second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const = 0;

  /// The whole d2l/dp2 of each row, [rows, outputs, outputs]. The default is for elementwise losses. For few outputs
  /// only.
  virtual torch::Tensor hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const;

 protected:
  Loss() = default;
  Loss(const Loss&) = default;
  Loss(Loss&&) = default;
  Loss& operator=(const Loss&) = default;
  Loss& operator=(Loss&&) = default;

  /// Implements evaluate(), which calls it with gradient mode off; with detached, contiguous, non-empty predictions of
  /// dtype float32 (16-bit ones are widened) or float64, detached targets on the same device and a supported probe; and
  /// with out.rows set and out.gradient and (unless the probe is `gradient`) out.probe allocated. Checks the targets,
  /// fills the rest of `out`, and throws NonFiniteError if a prediction is not finite.
  virtual void compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                       Evaluation& out) const = 0;
};

/// Number of rows and outputs of predictions, by the convention above.
struct RowShape {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
};
RowShape row_shape(const torch::Tensor& predictions);

}  // namespace lehi
