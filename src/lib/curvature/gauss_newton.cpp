// Exact Gauss-Newton diagonals by pulling back every column of a factor of d2l/dp2, row by row.
#include <cmath>

#include "curvature/pull_back.h"
#include "lehi/curvature.h"
#include "plan/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

// L with L L^T = H for each row, [rows, outputs, outputs], through the eigenvalues: H may be singular.
Tensor factor(const Tensor& hessian, const std::string& loss) {
  const auto [values, vectors] = at::linalg_eigh(hessian.to(torch::kFloat64));
  const auto smallest = values.min().item<double>();
  const auto largest = values.abs().max().item<double>();
  if (smallest < -1e-9 * largest) {
    throw_invalid_argument(
        "{} has negative curvature here (eigenvalue {} of d2l/dp2), so its Gauss-Newton matrix does not exist", loss,
        smallest);
  }
  return vectors * values.clamp_min(0.0).sqrt().unsqueeze(-2);
}

}  // namespace

std::vector<Tensor> gauss_newton_diagonal(const Tensor& predictions, const Loss& loss, const Tensor& targets,
                                          const std::vector<Tensor>& parameters) {
  const RowShape shape = row_shape(predictions);
  const double count = loss.evaluate(predictions, targets).count;
  Tensor columns;
  {
    const torch::NoGradGuard no_grad;
    columns = factor(loss.hessian(predictions.detach(), targets), loss.name()).to(predictions.scalar_type());
  }
  std::vector<Tensor> diagonal;
  diagonal.reserve(parameters.size());
  for (const Tensor& parameter : parameters) {
    diagonal.push_back(torch::zeros_like(parameter, torch::requires_grad(false)));
  }
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < shape.outputs; ++column) {
      Tensor cotangent = torch::zeros({shape.rows, shape.outputs}, predictions.options().requires_grad(false));
      cotangent[row] = columns.index({row, torch::indexing::Slice(), column});
      const auto s = pull_back({predictions}, {cotangent.view_as(predictions)}, parameters, /*keep_graph=*/true);
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i].defined()) diagonal[i].addcmul_(s[i], s[i], 1.0 / count);
      }
    }
  }
  return diagonal;
}

std::vector<Tensor> pull_back_probe(const Tensor& predictions, const Loss& loss, const Tensor& targets,
                                    const ProbeRequest& request, const std::vector<Tensor>& parameters) {
  const Evaluation evaluation = loss.evaluate(predictions, targets, request);
  const bool gradient = request.probe == Probe::gradient;
  const double factor = gradient ? 1.0 / evaluation.count : probe_factor(request.scale, 1.0, evaluation.count);
  auto s =
      pull_back({predictions}, {gradient ? evaluation.gradient : evaluation.probe}, parameters, /*keep_graph=*/true);
  for (Tensor& part : s) {
    if (part.defined()) part = part * factor;
  }
  return s;
}

std::vector<CurvatureMatch> match_curvature(const Optimizer& optimizer, const Tensor& predictions, const Loss& loss,
                                            const Tensor& targets) {
  const double count = loss.evaluate(predictions, targets).count;
  const double scale = optimizer.options().recipe.scale == Scale::mean ? 1.0 / count : 1.0;
  std::vector<CurvatureMatch> matches;
  for (const auto& group : optimizer.param_groups()) {
    const auto truth = gauss_newton_diagonal(predictions, loss, targets, group.params());
    double estimate_sum = 0.0;
    double truth_sum = 0.0;
    double product = 0.0;
    double estimate_square = 0.0;
    double truth_square = 0.0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const Tensor kept = optimizer.curvature(group.params()[i]);
      if (!kept.defined()) continue;
      const Tensor estimate = kept.to(torch::kFloat64);
      const Tensor exact = truth[i].to(torch::kFloat64) * scale;
      estimate_sum += estimate.sum().item<double>();
      truth_sum += exact.sum().item<double>();
      product += (estimate * exact).sum().item<double>();
      estimate_square += estimate.square().sum().item<double>();
      truth_square += exact.square().sum().item<double>();
    }
    const double size = std::sqrt(estimate_square * truth_square);
    matches.push_back(
        {.ratio = truth_sum > 0.0 ? estimate_sum / truth_sum : 0.0, .cosine = size > 0.0 ? product / size : 0.0});
  }
  return matches;
}

}  // namespace lehi
