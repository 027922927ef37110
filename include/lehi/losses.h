// The elementwise losses: every output contributes independently, so d2l/dp2 is diagonal and the probes imitation and
// diagonal are equal, v = sqrt(|l''|), with z any antiderivative of it.
//
// Targets have the predictions' shape and dtype. The loss of a row is the sum over its outputs, the value is the mean
// over rows; torch's `mean` reduction divides by rows * outputs instead. With e = p - y and s = sigma(p):
//
//   class                 l                                  u                 l''               z (imitation)
//   MeanSquaredError      e^2 / 2                            e                 1                 p
//   BinaryCrossEntropy    -y log s - (1-y) log(1-s)          s - y             s (1-s)           arcsin(tanh(p/2))
//   Huber(delta)          e^2/2 or delta(|e| - delta/2)      clamp(e, delta)   1 or 0            clamp(e, delta)
//   LogCosh               log cosh e                         tanh e            1 / cosh^2 e      arcsin(tanh e)
//   PoissonNll            exp(p) - y p                       exp(p) - y        exp(p)            2 exp(p/2)
//   SquaredHinge          max(0, 1 - y p)^2, y = +-1         -2y max(0,1-yp)   2 or 0            -y sqrt(2) max(0,1-yp)
//   Focal(gamma, alpha)   -a (1-q)^gamma log q, q = s or 1-s chain rule        may be negative   no closed form
//
// Probes: all losses have gradient, imitation and diagonal. gauss-newton (+-sqrt(l'')) needs l'' >= 0: all but Focal.
// sampled-label needs a negative log likelihood: MeanSquaredError (normal, unit variance),
// BinaryCrossEntropy (Bernoulli), PoissonNll (Poisson).
#pragma once

#include "lehi/loss.h"

namespace lehi {

namespace kernels {
struct ElementwiseFormula;
}

/// Base of all losses in this file, which differ in their formula only.
class ElementwiseLoss : public Loss {
 public:
  bool supports(Probe probe) const override;
  torch::Tensor second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const override;

 protected:
  void compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
               Evaluation& out) const override;

 private:
  virtual kernels::ElementwiseFormula formula() const = 0;
};

/// Half the squared error of each row, 1/2 |p - y|^2: the paper's regression loss.
class MeanSquaredError final : public ElementwiseLoss {
 public:
  std::string name() const override { return "mse"; }

 private:
  kernels::ElementwiseFormula formula() const override;
};

/// Binary cross-entropy with logits; targets in [0, 1].
class BinaryCrossEntropy final : public ElementwiseLoss {
 public:
  std::string name() const override { return "bce"; }

 private:
  kernels::ElementwiseFormula formula() const override;
};

/// Quadratic up to delta, linear beyond (Huber 1964), like torch's huber_loss.
class Huber final : public ElementwiseLoss {
 public:
  explicit Huber(double delta = 1.0);  ///< delta > 0
  std::string name() const override { return "huber"; }
  double delta() const { return delta_; }

 private:
  kernels::ElementwiseFormula formula() const override;
  double delta_;
};

/// log cosh of the error, a smooth variant of Huber.
class LogCosh final : public ElementwiseLoss {
 public:
  std::string name() const override { return "log-cosh"; }

 private:
  kernels::ElementwiseFormula formula() const override;
};

/// Poisson negative log likelihood with log-rate predictions, without the constant log y!; targets >= 0.
class PoissonNll final : public ElementwiseLoss {
 public:
  std::string name() const override { return "poisson-nll"; }

 private:
  kernels::ElementwiseFormula formula() const override;
};

/// Squared hinge; targets are -1 or +1.
class SquaredHinge final : public ElementwiseLoss {
 public:
  std::string name() const override { return "squared-hinge"; }

 private:
  kernels::ElementwiseFormula formula() const override;
};

/// Sigmoid focal loss (Lin et al. 2017); targets are 0 or 1. a = alpha for target 1, 1 - alpha for target 0.
class Focal final : public ElementwiseLoss {
 public:
  explicit Focal(double gamma = 2.0, double alpha = 0.25);  ///< gamma >= 0, 0 < alpha < 1
  std::string name() const override { return "focal"; }
  double gamma() const { return gamma_; }
  double alpha() const { return alpha_; }

 private:
  kernels::ElementwiseFormula formula() const override;
  double gamma_;
  double alpha_;
};

}  // namespace lehi
