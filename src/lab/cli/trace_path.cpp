#include "cli/trace_path.h"

#include <torch/types.h>

#include <cmath>

#include "lehi/error.h"
#include "lehi/optimizer.h"

namespace lehi::cli {
namespace {

std::vector<double> weight_entries(const torch::Tensor& w) {
  const auto values = w.detach();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

}  // namespace

TracePath follow(const Problem& problem, const std::string& variant, const Options& options,
                 const std::vector<double>& start, std::int64_t steps) {
  auto w = torch::tensor(start, torch::kFloat64).requires_grad_(true);
  Optimizer optimizer(std::vector<torch::Tensor>{w}, options);
  TracePath path{.variant = variant, .options = options};
  for (std::int64_t step = 0; step <= steps && !path.diverged; ++step) {
    auto& point = path.points.emplace_back(TracePoint{.step = step, .w = weight_entries(w), .value = std::nan("")});
    try {
      point.value = value(problem, w.detach());
      if (step < steps) optimizer.step(problem.predictions(w), *problem.loss, problem.targets);
    } catch (const NonFiniteError&) {
      path.diverged = true;
    }
    path.diverged = path.diverged || !std::isfinite(point.value);
  }
  return path;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

}  // namespace lehi::cli
