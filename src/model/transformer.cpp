#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "kernels/philox.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr std::uint32_t dropout_purpose = 16;  // apart from those of kernels/draws.h

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }

template <class T>
void fill_mask(const Tensor& mask, double probability, const RandomKey& key, std::uint32_t site) {
  const kernels::PhiloxBlock derived =
      kernels::philox({low(key.step), high(key.step), dropout_purpose, site}, {low(key.seed), high(key.seed)});
  const kernels::PhiloxKey own = {derived[0], derived[1]};
  const auto threshold = static_cast<std::uint64_t>(std::ldexp(probability, 32));
  const T kept = static_cast<T>(1.0 / (1.0 - probability));
  const std::int64_t rows = mask.size(0);
  const std::int64_t columns = mask.size(1);
  T* to = mask.data_ptr<T>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t global = key.first_row + static_cast<std::uint64_t>(row);
    for (std::int64_t first = 0; first < columns; first += 4) {
      const auto words =
          kernels::philox({low(global), high(global), static_cast<std::uint32_t>(first / 4), dropout_purpose}, own);
      const std::int64_t some = std::min<std::int64_t>(4, columns - first);
      for (std::int64_t i = 0; i < some; ++i) *to++ = words[static_cast<std::size_t>(i)] < threshold ? T(0) : kept;
    }
  }
}

// -infinity above the diagonal.
Tensor causal_mask(std::int64_t tokens, const torch::TensorOptions& options) {
  return torch::full({tokens, tokens}, -std::numeric_limits<double>::infinity(), options).triu_(1);
}

}  // namespace

NamedTensors make_parameters(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype,
                             const std::function<Start(const std::string& name)>& start) {
  const torch::NoGradGuard no_grad;
  auto generator = at::detail::createCPUGenerator(seed);
  NamedTensors parameters;
  for (const ParameterShape& shape : shapes) {
    const Start how = start(shape.name);
    Tensor values = torch::empty(shape.sizes, torch::kFloat32);
    if (how.std > 0.0) {
      values.normal_(0.0, how.std, generator);
    } else {
      values.fill_(how.constant);
    }
    parameters.insert(shape.name, values.to(dtype));
  }
  return parameters;
}

Tensor causal_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, double probability,
                        const Pass& pass, std::uint32_t site) {
  const std::int64_t rows = queries.size(0);
  const std::int64_t heads = queries.size(1);
  const std::int64_t groups = keys.size(1);
  const std::int64_t tokens = queries.size(2);
  const std::int64_t width = queries.size(3);
  const double scale = 1.0 / std::sqrt(static_cast<double>(width));
  // The queries that share a key stand below each other: one product for all of them.
  const Tensor grouped = (queries * scale).reshape({rows * groups, heads / groups * tokens, width});
  const Tensor scores = torch::bmm(grouped, keys.reshape({rows * groups, tokens, width}).transpose(1, 2));
  const Tensor masked = scores.view({rows, heads, tokens, tokens}) + causal_mask(tokens, scores.options());
  const Tensor weights = dropout(torch::softmax(masked, -1), probability, pass, site);
  const Tensor mixed = torch::bmm(weights.view({rows * groups, heads / groups * tokens, tokens}),
                                  values.reshape({rows * groups, tokens, width}));
  return mixed.view({rows, heads, tokens, width}).transpose(1, 2).reshape({rows, tokens, heads * width});
}

Tensor dropout(const Tensor& values, double probability, const Pass& pass, std::uint32_t site) {
  if (!pass.training || probability == 0.0) return values;
  const Tensor mask = torch::empty({values.size(0), values.numel() / values.size(0)}, values.options());
  if (values.scalar_type() == torch::kFloat32) {
    fill_mask<float>(mask, probability, pass.key, site);
  } else {
    fill_mask<double>(mask, probability, pass.key, site);
  }
  return values * mask.view(values.sizes());
}

Tensor embedded(const Tensor& weight, const Tensor& inputs, std::int64_t context) {
  const std::int64_t vocabulary = weight.size(0);
  if (inputs.scalar_type() != torch::kInt64 || inputs.dim() != 2 || inputs.numel() == 0) {
    refuse("the inputs are {} [{}]; expected Long [rows, tokens]", c10::toString(inputs.scalar_type()),
           fmt::join(inputs.sizes(), ", "));
  }
  if (inputs.size(1) > context) {
    refuse("the inputs have {} tokens a row, but the model's context is {}", inputs.size(1), context);
  }
  const auto [smallest, largest] = torch::aminmax(inputs);
  if (smallest.item<std::int64_t>() < 0 || largest.item<std::int64_t>() >= vocabulary) {
    refuse("the inputs have tokens from {} to {}, but the model's are 0 to {}", smallest.item<std::int64_t>(),
           largest.item<std::int64_t>(), vocabulary - 1);
  }
  return torch::embedding(weight, inputs, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true);
}

}  // namespace lehi::model
