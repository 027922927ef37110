// What the language models share: how their weights are made, and the parts of their blocks with their pull-backs.
#pragma once

#include <functional>

#include "layers/dropout.h"
#include "layers/normalisation.h"
#include "model/chain.h"

namespace lehi::model {

/// How a parameter starts: normal with this standard deviation around 0, or `constant` everywhere where it is 0.
struct Start {
  double std = 0.0;
  double constant = 0.0;
};

/// The parameters of a list, drawn in its order from one generator of their own. float64 ones are the float32 numbers.
NamedParameters make_parameters(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype,
                                const std::function<Start(const std::string& name)>& start);

/// y = x W + b of rows; W is stored [in, out] or, as nn.Linear does, [out, in]; no bias where it is undefined.
struct Linear {
  torch::Tensor weight;
  torch::Tensor bias = {};
  bool out_in = false;

  torch::Tensor run(const torch::Tensor& x) const;
  /// result += x W: no bias.
  void add_product(const torch::Tensor& x, torch::Tensor& result) const;
  /// From cotangents of y, [count * rows, out], those of x: written over `to`, or added to it.
  void pull_back_input(const torch::Tensor& cotangents, torch::Tensor& to, bool add) const;
  /// Delivers the parameters' parts, so pull_back_input() must be through.
  void pull_back_parameters(const torch::Tensor& x, const torch::Tensor& cotangents,
                            const Differentiable::Deliver& deliver) const;
  /// All of it.
  torch::Tensor pull_back(const torch::Tensor& x, const torch::Tensor& cotangents,
                          const Differentiable::Deliver& deliver) const;
};

/// Layer norm, or the root-mean-square norm where there is no bias.
struct Norm {
  torch::Tensor weight;
  torch::Tensor bias = {};
  double eps = 1e-5;

  layers::Normalised run(const torch::Tensor& x) const;
  torch::Tensor again(const torch::Tensor& x, const torch::Tensor& statistics) const;
  /// Adds the cotangents of x to `to`, and delivers the parameters' parts.
  void pull_back(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& cotangents,
                 torch::Tensor& to, const Differentiable::Deliver& deliver) const;
};

/// The end of a residual branch: x + dropout(linear(inner)).
struct BranchEnd {
  torch::Tensor output;
  torch::Tensor mask;  ///< undefined without dropout
};
BranchEnd end_branch(const torch::Tensor& x, const Linear& linear, const torch::Tensor& inner,
                     const layers::Dropout& dropout, std::int64_t rows);
/// From cotangents of the output, those of `inner`.
torch::Tensor pull_back_branch(const Linear& linear, const torch::Tensor& inner, const torch::Tensor& mask,
                               const torch::Tensor& cotangents, const Differentiable::Deliver& deliver);

/// One below the other, [count * rows, width], in memory of the caller's own.
torch::Tensor stacked(const std::vector<torch::Tensor>& cotangents, std::int64_t width);
/// Such a stack as cotangents of this shape.
std::vector<torch::Tensor> unstacked(const torch::Tensor& stack, at::IntArrayRef sizes);

/// A segment that only normalises.
Segment norm_segment(const Norm& norm);

/// The mask of a pass at a place of the model; inactive outside training.
layers::Dropout dropout_at(double probability, const Pass& pass, std::uint32_t site);

/// values * mask / (1 - probability); the mask of a row depends on the pass's key, the row's global index, the site and
/// the place in the row alone. The values themselves outside training.
torch::Tensor dropout(const torch::Tensor& values, double probability, const Pass& pass, std::uint32_t site);

/// The rows of `weight` [vocabulary, width] that the tokens name; its gradient is sparse. Throws std::invalid_argument
/// unless inputs are int64 [rows, tokens] with at most `context` tokens, each below the vocabulary.
torch::Tensor embedded(const torch::Tensor& weight, const torch::Tensor& inputs, std::int64_t context);

}  // namespace lehi::model
