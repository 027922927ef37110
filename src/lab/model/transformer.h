// What the language models share: initial weights, and the parts of their blocks with their backward passes.
#pragma once

#include <functional>

#include "layers/dropout.h"
#include "layers/normalisation.h"
#include "model/chain.h"

namespace lehi::model {

/// A parameter's initial values: normal around 0 with this standard deviation; `constant` everywhere if that is 0.
struct InitialValues {
  double std = 0.0;
  double constant = 0.0;
};

/// The parameters of a list, drawn in its order from a generator with this seed. They are drawn as float32, whatever
/// the dtype.
NamedParameters make_parameters(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype,
                                const std::function<InitialValues(const std::string& name)>& initial_values);

/// y = x W + b of rows. W is stored as [in, out] or, with `out_in`, as [out, in] like nn.Linear's. The bias may be
/// undefined.
struct Linear {
  torch::Tensor weight;
  torch::Tensor bias = {};
  bool out_in = false;

  torch::Tensor run(const torch::Tensor& x) const;
  /// result += x W, without the bias.
  void add_product(const torch::Tensor& x, torch::Tensor& result) const;
  /// Cotangents of x from those of y, [count * rows, out]; they overwrite `to` or are added to it.
  void pull_back_input(const torch::Tensor& cotangents, torch::Tensor& to, bool add) const;
  /// Delivers the gradients of weight and bias. An optimizer may update the weight then, so call pull_back_input()
  /// first.
  void pull_back_parameters(const torch::Tensor& x, const torch::Tensor& cotangents,
                            const Differentiable::Deliver& deliver) const;
  /// Both; returns the cotangents of x.
  torch::Tensor pull_back(const torch::Tensor& x, const torch::Tensor& cotangents,
                          const Differentiable::Deliver& deliver) const;
};

/// Layer norm; the root-mean-square norm where the bias is undefined.
struct Norm {
  torch::Tensor weight;
  torch::Tensor bias = {};
  double eps = 1e-5;

  layers::Normalised run(const torch::Tensor& x) const;
  torch::Tensor recompute(const torch::Tensor& x, const torch::Tensor& statistics) const;
  /// Adds the cotangents of x to `to`, and delivers the parameters' gradients.
  void pull_back(const torch::Tensor& x, const torch::Tensor& statistics, const torch::Tensor& cotangents,
                 torch::Tensor& to, const Differentiable::Deliver& deliver) const;
};

/// A residual branch's last map and sum: x + dropout(linear(inner)).
struct BranchSum {
  torch::Tensor output;
  torch::Tensor mask;  ///< undefined without dropout
};
BranchSum add_branch(const torch::Tensor& x, const Linear& linear, const torch::Tensor& inner,
                     const layers::Dropout& dropout, std::int64_t rows);
/// The cotangents of `inner` from those of the output.
torch::Tensor pull_back_branch(const Linear& linear, const torch::Tensor& inner, const torch::Tensor& mask,
                               const torch::Tensor& cotangents, const Differentiable::Deliver& deliver);

/// The cotangents stacked by rows, [count * rows, width], in new memory.
torch::Tensor stacked(const std::vector<torch::Tensor>& cotangents, std::int64_t width);
/// The cotangents of such a stack, each of this shape.
std::vector<torch::Tensor> unstacked(const torch::Tensor& stack, at::IntArrayRef sizes);

/// A segment that is a norm.
Segment norm_segment(const Norm& norm);

/// The dropout of a pass at a site of the model; inactive outside training.
layers::Dropout dropout_at(double probability, const Pass& pass, std::uint32_t site);

/// values * mask / (1 - probability); outside training, the values. The mask depends only on the pass's key, the row's
/// global index, the site and the position in the row.
torch::Tensor dropout(const torch::Tensor& values, double probability, const Pass& pass, std::uint32_t site);

/// The row of `weight` [vocabulary, width] for each token; its gradient is sparse. Throws std::invalid_argument unless
/// inputs are int64 [rows, tokens] with at most `context` tokens, each below the vocabulary.
torch::Tensor embed(const torch::Tensor& weight, const torch::Tensor& inputs, std::int64_t context);

}  // namespace lehi::model
