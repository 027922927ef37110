#include "tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/message.h"

namespace lehi::python {

kernels::ParallelFor torch_threads() {
  return {.run = [](void* /*context*/, std::int64_t size, std::int64_t grain, const kernels::LoopBody& body) {
    torch::stable::parallel_for(0, size, grain, body);
  }};
}

std::vector<std::int64_t> sizes_of(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> strides_of(const Tensor& tensor) {
  const auto strides = tensor.strides();
  return {strides.begin(), strides.end()};
}

std::string text_of(const std::vector<std::int64_t>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

std::string_view text_of(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::Half:
      return "float16";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::Long:
      return "int64";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Bool:
      return "bool";
    default:
      return torch::headeronly::toString(type);
  }
}

bool has_kernel_type(const Tensor& tensor) {
  return tensor.scalar_type() == ScalarType::Float || tensor.scalar_type() == ScalarType::Double;
}

Tensor as_contiguous(const Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

Tensor new_tensor(const std::vector<std::int64_t>& sizes, ScalarType type) { return torch::stable::empty(sizes, type); }

RandomKey key_from(const std::vector<std::int64_t>& list) {
  constexpr std::int64_t streams = 1 << 16;
  if (list.size() != 4) {
    throw_invalid_argument("a random key has {} entries; expected 4: seed, step, first_row, stream", list.size());
  }
  if (list[3] < 0 || list[3] >= streams) {
    throw_invalid_argument("the stream of a random key is {}; expected 0 to {}", list[3], streams - 1);
  }
  return {.seed = static_cast<std::uint64_t>(list[0]),
          .step = static_cast<std::uint64_t>(list[1]),
          .first_row = static_cast<std::uint64_t>(list[2]),
          .stream = static_cast<std::uint32_t>(list[3])};
}

}  // namespace lehi::python
