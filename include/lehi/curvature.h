// The exact Gauss-Newton diagonal of a small network, and how close a probe comes to it: instruments for tests and
// for curiosity. Cost: rows * outputs pull-backs through the graph, so keep both small.
#pragma once

#include <torch/types.h>

#include <vector>

#include "lehi/loss.h"
#include "lehi/optimizer.h"

namespace lehi {

/// diag(J^T H J) of the mean loss for each parameter, H = d2l/dp2 row by row. Keeps the graph.
/// Throws std::invalid_argument when H has a negative eigenvalue (no Gauss-Newton matrix then) .
std::vector<torch::Tensor> gauss_newton_diagonal(const torch::Tensor& predictions, const Loss& loss,
                                                 const torch::Tensor& targets,
                                                 const std::vector<torch::Tensor>& parameters);

/// s of one probe, scaled: J^T v / sqrt(N) or / N. Keeps the graph. Undefined where a parameter took no part.
std::vector<torch::Tensor> pull_back_probe(const torch::Tensor& predictions, const Loss& loss,
                                           const torch::Tensor& targets, const ProbeRequest& request,
                                           const std::vector<torch::Tensor>& parameters);

/// How an estimate of a diagonal compares with the true one, over all weights of a group.
struct CurvatureMatch {
  double ratio = 0.0;   ///< sum of the estimate / sum of the truth; 1 is perfect scale
  double cosine = 0.0;  ///< of the two diagonals as vectors; 1 is perfect direction
};

/// The optimizer's kept curvature (bias-corrected) against the true Gauss-Newton diagonal, one entry per parameter
/// group. With Scale::mean the truth is divided by N, as the estimate is.
std::vector<CurvatureMatch> match_curvature(const Optimizer& optimizer, const torch::Tensor& predictions,
                                            const Loss& loss, const torch::Tensor& targets);

}  // namespace lehi
