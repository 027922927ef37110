// Layer norm and root-mean-square norm of the rows of a matrix, and their backward passes for any number of cotangents.
//
//   layer norm   y = w (x - mean) r + b,  r = 1 / sqrt(mean((x - mean)^2) + eps)
//   rms norm     y = w x r,               r = 1 / sqrt(mean(x^2) + eps)
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi::layers {

struct Normalised {
  torch::Tensor values;      ///< y
  torch::Tensor statistics;  ///< [rows, 2]: mean (0 in the rms norm) and r
};

/// x [rows, width]. The rms norm where the bias is undefined.
Normalised normalise(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias, double eps);

/// The same y from known statistics, for a backward pass that has not kept y.
torch::Tensor recompute_normalised(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& weight,
                                   const torch::Tensor& bias);

/// One entry a cotangent; `biases` is empty for the rms norm.
struct NormGradients {
  std::vector<torch::Tensor> weights;
  std::vector<torch::Tensor> biases;
};

/// Backward pass: adds the cotangents of x to `to`, from those of y, both [count * rows, width]. Returns the gradients
/// of the parameters.
NormGradients pull_back_normalise(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& weight,
                                  bool has_bias, const torch::Tensor& cotangents, torch::Tensor& to);

}  // namespace lehi::layers
