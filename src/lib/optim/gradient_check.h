// Looks at g and s before they are used: norms, clipping, and what is not finite or too large to be squared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optim/parameters.h"
#include "optim/terms.h"
#include "plan/plan.h"

namespace lehi {

struct GradientSummary {
  double norm = 0.0;                    ///< global 2-norm before clipping; NaN where something is not finite
  double inf_norm = 0.0;                ///< largest |g_i|; NaN likewise
  std::vector<double> group_inf_norms;  ///< of the parameter groups
  double clip_factor = 1.0;
  std::string problem;  ///< "the gradient of layer.0 is not finite", ...; "" when all is well
};

class GradientCheck {
 public:
  GradientCheck(const ParameterTable& parameters, const StepPlan& plan, const Factors& factors);

  void add(std::size_t index, const torch::Tensor& g, const torch::Tensor& s);

  /// After the last add(). `gradients`: all g by parameter, or empty where they are gone; only read where the sum of
  /// the squares overflows float64.
  GradientSummary finish(const LossValue& loss, std::optional<double> clip_norm, const Tensors& gradients) const;

 private:
  const ParameterTable& parameters_;
  StepPlan plan_;
  Factors factors_;
  double squares_ = 0.0;
  std::vector<double> largest_;  // |g_i| of each group, without the factor
  std::string problem_;          // the first found
  double excess_ = 0.0;          // largest g that is squared, over what its square can be
  std::string excessive_;        // its parameter's name
};

}  // namespace lehi
