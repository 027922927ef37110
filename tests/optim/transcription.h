// The equations of the paper's algorithms and of Sophia-G, written out once more in plain loops over double, as an
// independent check of the library. g comes from torch's own loss, s from automatic differentiation of the auxiliary
// loss (or, for random probes, from the library's v, whose distribution tests/curvature checks).
#pragma once

#include "optim/fixtures.h"

namespace lehi::testing {

using Vector = std::vector<double>;

/// J^T cotangent over all weights, flat; `output` keeps its graph.
inline Vector pull_back(const torch::Tensor& output, const Weights& weights, const torch::Tensor& cotangent = {}) {
  const auto parts = torch::autograd::grad({output}, weights, {cotangent}, /*retain_graph=*/true);
  const auto all = flat(parts);
  return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
}

/// Leaves of the problem's shapes with the values of `w`.
inline Weights leaves_of(const Problem& problem, const Vector& w) {
  Weights leaves;
  std::size_t at = 0;
  for (const auto& start : problem.start) {
    const auto size = static_cast<std::size_t>(start.numel());
    const Vector part(w.begin() + static_cast<std::ptrdiff_t>(at), w.begin() + static_cast<std::ptrdiff_t>(at + size));
    leaves.push_back(torch::tensor(part, torch::kFloat64).view(start.sizes()).requires_grad_(true));
    at += size;
  }
  return leaves;
}

inline Vector to_vector(const torch::Tensor& tensor) {
  const auto all = tensor.detach().to(torch::kFloat64).contiguous();
  return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
}

/// What a transcription sees of one step: the network at its weights, in float64.
struct Seen {
  const Problem& problem;
  Weights leaves;
  std::int64_t step;
  torch::Tensor predictions;

  Seen(const Problem& of, const Vector& w, std::int64_t at)
      : problem(of), leaves(leaves_of(of, w)), step(at), predictions(of.predict(leaves, at)) {}

  Vector gradient() const { return pull_back(problem.value(predictions, problem.targets(step)), leaves); }

  /// The paper's s: the gradient of the auxiliary loss, over sqrt(N).
  Vector imitation() const { return pull_back(problem.auxiliary(predictions) / std::sqrt(problem.count()), leaves); }

  /// s of a random probe with `mean` scale: the library's v over N, pulled back by torch.
  Vector random(Probe probe, std::uint64_t seed) const {
    const ProbeRequest request{probe, Scale::mean, {seed, static_cast<std::uint64_t>(step), 0, 0}};
    const auto v = problem.loss->evaluate(predictions, problem.targets(step), request).probe;
    return pull_back(predictions, leaves, v / problem.count());
  }
};

/// When a refresh is due, by hand: each of the first `dense` steps, then dense + 1, dense + 1 + every, ...
inline bool refresh_due(std::int64_t step, std::int64_t every, std::int64_t dense) {
  return step <= dense || (step - dense - 1) % every == 0;
}
inline std::int64_t steps_covered(std::int64_t step, std::int64_t every, std::int64_t dense) {
  return step <= dense ? 1 : every;
}

/// Follows the library beside a transcription `w <- advance(w, step)` and compares the weights after each step.
inline void expect_transcribed_path(
    const Options& options, const std::function<std::function<void(Vector&, std::int64_t)>(const Problem&)>& begin) {
  for_each_problem([&](const Problem& problem) {
    const auto exact = make_problem(problem.name, torch::kFloat64);
    const auto weights = fresh(problem.start);
    Optimizer optimizer(weights, options);
    Vector w = to_vector(flat(problem.start));
    const auto advance = begin(exact);
    for (std::int64_t step = 1; step <= 200; ++step) {
      take_step(optimizer, problem, weights, step);
      advance(w, step);
      expect_close(weights, torch::tensor(w, torch::kFloat64), tolerance(problem.dtype), step);
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(relative_difference(flat(weights), flat(problem.start)), 1e-3) << "the run went nowhere";
  });
}

}  // namespace lehi::testing
