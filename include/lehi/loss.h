// The interface of every loss: value, u = dl/dp and a probe vector v from one pass over the predictions.
//
// Rows and outputs. Predictions of shape [N] are N rows of one output; of shape [..., C], every index but the last
// names a row and the last one names an output. A loss is a sum over a row's outputs and a mean over rows. Losses never
// broadcast: predictions and targets must have exactly the shapes that each loss documents. They never build an
// autograd graph: evaluate() reads the predictions' values only.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/probe.h"

namespace lehi {

/// What a loss says of a batch: sums over rows, not yet divided, so that micro-batches can be added up first.
struct Evaluation {
  double sum = 0.0;        ///< sum of the rows' losses, row weights included
  double count = 0.0;      ///< what the mean divides by: counted rows, or their total class weight
  std::int64_t rows = 0;   ///< rows seen, ignored ones included; advances RandomKey::first_row
  torch::Tensor gradient;  ///< u: d(sum)/dp, shape and dtype of the predictions
  torch::Tensor probe;     ///< v, unscaled; undefined when the request was `gradient`
  /// d(sum)/dw and the probe pulled back for each of Loss::parameters(); empty where it has none.
  std::vector<torch::Tensor> parameter_gradients;
  std::vector<torch::Tensor> parameter_probes;
  /// The loss's own buffers, here so that they serve the next call too: asking the system for them anew costs more than
  /// filling them.
  std::vector<torch::Tensor> workspace;

  /// The mean loss; NaN when every row was ignored.
  double mean() const { return sum / count; }
};

class Loss {
 public:
  virtual ~Loss() = default;

  /// The loss's name as on the command line, e.g. "cross-entropy".
  virtual std::string name() const = 0;

  /// True when evaluate() can make this probe. `gradient` is always true.
  virtual bool supports(Probe probe) const = 0;

  /// Weights that the loss itself applies to the predictions (LinearCrossEntropy); the optimizer adds their part of g
  /// and s to what comes back through the network, which may use the same weights (tied ones).
  virtual std::vector<torch::Tensor> parameters() const { return {}; }

  /// Value, gradient and, if asked for, probe. Tensors already in `out` are reused when shape, dtype and device fit.
  /// Throws std::invalid_argument for wrong shapes, dtypes, devices, targets or an unsupported probe, and
  /// NonFiniteError for NaN or infinite predictions.
  void evaluate(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                Evaluation& out) const;

  Evaluation evaluate(const torch::Tensor& predictions, const torch::Tensor& targets,
                      const ProbeRequest& request = {}) const;

  /// d2l/dp_i^2 of each row's loss (row weights included), shape of the predictions. May be negative.
  virtual torch::Tensor second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const = 0;

  /// The whole d2l/dp2 of each row, [rows, outputs, outputs]; the default is for elementwise losses. Small outputs
  /// only.
  virtual torch::Tensor hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const;

 protected:
  Loss() = default;
  Loss(const Loss&) = default;
  Loss(Loss&&) = default;
  Loss& operator=(const Loss&) = default;
  Loss& operator=(Loss&&) = default;

  /// Called without gradient mode, with detached, contiguous, non-empty predictions that are float32 or float64,
  /// detached targets on the same device, and a supported request; out.rows is set, out.gradient and (unless the probe
  /// is `gradient`) out.probe are allocated. Checks the targets, fills the rest of `out`, and throws NonFiniteError
  /// when it meets a prediction that is not finite.
  virtual void compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                       Evaluation& out) const = 0;
};

/// Rows and outputs of predictions, by the convention above.
struct RowShape {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
};
RowShape row_shape(const torch::Tensor& predictions);

}  // namespace lehi
