#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include "layers/activation.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

NamedParameters make_parameters(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype,
                                const std::function<InitialValues(const std::string& name)>& initial_values) {
  const torch::NoGradGuard no_grad;
  auto generator = at::detail::createCPUGenerator(seed);
  NamedParameters parameters;
  for (const ParameterShape& shape : shapes) {
    const InitialValues initial = initial_values(shape.name);
    Tensor values = torch::empty(shape.sizes, torch::kFloat32);
    if (initial.std > 0.0) {
      values.normal_(0.0, initial.std, generator);
    } else {
      values.fill_(initial.constant);
    }
    parameters.insert(shape.name, values.to(dtype));
  }
  return parameters;
}

Tensor Linear::run(const Tensor& x) const {
  const Tensor matrix = out_in ? weight.t() : weight;
  return bias.defined() ? torch::addmm(bias, x, matrix) : torch::mm(x, matrix);
}

void Linear::add_product(const Tensor& x, Tensor& result) const { result.addmm_(x, out_in ? weight.t() : weight); }

void Linear::pull_back_input(const Tensor& cotangents, Tensor& to, bool add) const {
  const torch::NoGradGuard no_grad;
  const Tensor back = out_in ? weight : weight.t();
  if (add) {
    to.addmm_(cotangents, back);
  } else {
    torch::mm_out(to, cotangents, back);
  }
}

void Linear::pull_back_parameters(const Tensor& x, const Tensor& cotangents,
                                  const Differentiable::Deliver& deliver) const {
  const std::int64_t rows = x.size(0);
  const std::int64_t count = cotangents.size(0) / rows;
  std::vector<Tensor> pulled;
  pulled.reserve(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) {
    const Tensor own = cotangents.narrow(0, c * rows, rows);
    pulled.push_back(out_in ? torch::mm(own.t(), x) : torch::mm(x.t(), own));
  }
  deliver(weight, pulled);
  if (!bias.defined()) return;
  deliver(bias, cotangents.view({count, rows, cotangents.size(1)}).sum(1).unbind(0));
}

Tensor Linear::pull_back(const Tensor& x, const Tensor& cotangents, const Differentiable::Deliver& deliver) const {
  Tensor to = torch::empty({cotangents.size(0), x.size(1)}, x.options());
  pull_back_input(cotangents, to, /*add=*/false);
  pull_back_parameters(x, cotangents, deliver);
  return to;
}

layers::Normalised Norm::run(const Tensor& x) const { return layers::normalise(x, weight, bias, eps); }

Tensor Norm::recompute(const Tensor& x, const Tensor& statistics) const {
  return layers::recompute_normalised(x, statistics, weight, bias);
}

void Norm::pull_back(const Tensor& x, const Tensor& statistics, const Tensor& cotangents, Tensor& to,
                     const Differentiable::Deliver& deliver) const {
  const auto gradients = layers::pull_back_normalise(x, statistics, weight.detach(), bias.defined(), cotangents, to);
  deliver(weight, gradients.weights);
  if (bias.defined()) deliver(bias, gradients.biases);
}

BranchSum add_branch(const Tensor& x, const Linear& linear, const Tensor& inner, const layers::Dropout& dropout,
                     std::int64_t rows) {
  BranchSum sum;
  if (dropout.active()) {
    sum.mask = dropout.mask({rows, x.numel() / rows}, x.options()).view(x.sizes());
    sum.output = torch::addcmul(x, linear.run(inner), sum.mask);
  } else {
    sum.output = linear.bias.defined() ? x + linear.bias : x.clone();
    linear.add_product(inner, sum.output);
  }
  return sum;
}

Tensor pull_back_branch(const Linear& linear, const Tensor& inner, const Tensor& mask, const Tensor& cotangents,
                        const Differentiable::Deliver& deliver) {
  return linear.pull_back(inner, mask.defined() ? layers::times_slope(cotangents, mask) : cotangents, deliver);
}

Tensor stacked(const std::vector<Tensor>& cotangents, std::int64_t width) {
  std::vector<Tensor> matrices;
  matrices.reserve(cotangents.size());
  for (const Tensor& cotangent : cotangents) matrices.push_back(cotangent.reshape({-1, width}));
  return torch::cat(matrices);
}

std::vector<Tensor> unstacked(const Tensor& stack, at::IntArrayRef sizes) {
  std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  all.insert(all.begin(), stack.numel() / c10::multiply_integers(sizes));
  return stack.view(all).unbind(0);
}

Segment norm_segment(const Norm& norm) {
  return {.forward = [norm](const Tensor& input, const Pass&) -> SegmentPass {
    const std::int64_t width = input.size(-1);
    const Tensor x = input.reshape({-1, width});
    const layers::Normalised normed = norm.run(x);
    return {normed.values.view(input.sizes()),
            [norm, x, width, sizes = input.sizes().vec(), statistics = normed.statistics](
                const std::vector<Tensor>& cotangents, const Differentiable::Deliver& deliver) {
              const Tensor arriving = stacked(cotangents, width);
              Tensor to = torch::zeros_like(arriving);
              norm.pull_back(x, statistics, arriving, to, deliver);
              return unstacked(to, sizes);
            }};
  }};
}

layers::Dropout dropout_at(double probability, const Pass& pass, std::uint32_t site) {
  if (!pass.training || probability == 0.0) return {};
  return {probability, pass.key, site};
}

Tensor dropout(const Tensor& values, double probability, const Pass& pass, std::uint32_t site) {
  const layers::Dropout drop = dropout_at(probability, pass, site);
  return drop.active() ? values * drop.mask(values.sizes(), values.options()) : values;
}

Tensor embed(const Tensor& weight, const Tensor& inputs, std::int64_t context) {
  const std::int64_t vocabulary = weight.size(0);
  if (inputs.scalar_type() != torch::kInt64 || inputs.dim() != 2 || inputs.numel() == 0) {
    throw_invalid_argument("the inputs are {} [{}]; expected Long [rows, tokens]", c10::toString(inputs.scalar_type()),
                           fmt::join(inputs.sizes(), ", "));
  }
  if (inputs.size(1) > context) {
    throw_invalid_argument("the inputs have {} tokens a row, more than the model's context of {}", inputs.size(1),
                           context);
  }
  const auto [smallest, largest] = torch::aminmax(inputs);
  if (smallest.item<std::int64_t>() < 0 || largest.item<std::int64_t>() >= vocabulary) {
    throw_invalid_argument("the inputs have tokens from {} to {}; expected tokens from 0 to {}",
                           smallest.item<std::int64_t>(), largest.item<std::int64_t>(), vocabulary - 1);
  }
  return torch::embedding(weight, inputs, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true);
}

}  // namespace lehi::model
