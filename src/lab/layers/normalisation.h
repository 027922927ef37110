// Layer and root-mean-square normalisation of the rows of a matrix, and their pull-backs for any number of cotangents.
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

/// x [rows, width]; an undefined bias: the rms norm.
Normalised normalise(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias, double eps);

/// The same y from statistics that are known: what a pull-back does instead of keeping it.
torch::Tensor normalise_again(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& weight,
                              const torch::Tensor& bias);

/// One entry a cotangent; no biases in the rms norm.
struct NormGradients {
  std::vector<torch::Tensor> weights;
  std::vector<torch::Tensor> biases;
};

/// Pulls cotangents of y, [count * rows, width], back: adds what belongs to x to `to`, of the same shape.
NormGradients pull_back_normalise(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& weight,
                                  bool has_bias, const torch::Tensor& cotangents, torch::Tensor& to);

}  // namespace lehi::layers
