// Sizes of tensors, and random numbers.
#include "kernels/draws.h"
#include "kernels/norms.h"
#include "operators.h"
#include "runtime/message.h"

namespace lehi::python {
namespace {

void check_dense(const std::string& operation, const Tensors& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (has_kernel_type(tensors[i]) && tensors[i].is_contiguous()) continue;
    throw_invalid_argument("{}: tensor {} is {}{}; expected contiguous tensors of float32 or float64", operation, i,
                           text_of(tensors[i].scalar_type()), tensors[i].is_contiguous() ? "" : ", not contiguous");
  }
}

kernels::Norms norms_of(const Tensor& tensor) {
  return is_float32(tensor) ? kernels::norms(read<float>(tensor), tensor.numel(), torch_threads())
                            : kernels::norms(read<double>(tensor), tensor.numel(), torch_threads());
}

bool is_within(const Tensor& tensor, double limit) {
  return is_float32(tensor) ? kernels::is_within(read<float>(tensor), tensor.numel(), limit, torch_threads())
                            : kernels::is_within(read<double>(tensor), tensor.numel(), limit, torch_threads());
}

}  // namespace

Tensor draws(std::string kind, std::int64_t rows, std::int64_t outputs, Ints key) {
  if (rows < 0 || outputs < 0)
    throw_invalid_argument("draws: {} rows of {} outputs: expected 0 or more", rows, outputs);
  if (kind != "signs" && kind != "uniform" && kind != "normal") {
    throw_invalid_argument("draws: unknown kind '{}': expected one of signs, uniform, normal", kind);
  }
  const kernels::Draws numbers(key_from(key));
  Tensor result = new_tensor({rows, outputs}, ScalarType::Double);
  auto* to = write<double>(result);
  for (std::int64_t row = 0; row < rows; ++row, to += outputs) {
    if (kind == "signs") {
      numbers.signs(row, outputs, to);
      continue;
    }
    for (std::int64_t i = 0; i < outputs; ++i) {
      to[i] = kind == "normal" ? numbers.normal(row, i) : numbers.uniform(row, i);
    }
  }
  return result;
}

Tensor norms(Tensors tensors) {
  check_dense("norms", tensors);
  Tensor result = new_tensor({static_cast<std::int64_t>(tensors.size()), 3}, ScalarType::Double);
  auto* to = write<double>(result);
  for (const Tensor& tensor : tensors) {
    const kernels::Norms found = norms_of(tensor);
    *to++ = found.sum_of_squares;
    *to++ = found.largest;
    *to++ = found.finite ? 1.0 : 0.0;
  }
  return result;
}

Tensor within(Tensors tensors, double limit) {
  check_dense("within", tensors);
  if (!(limit <= std::numeric_limits<double>::max()))
    throw_invalid_argument("within: the limit is {}, not finite", limit);
  Tensor result = new_tensor({static_cast<std::int64_t>(tensors.size())}, ScalarType::Bool);
  auto* to = write<bool>(result);
  for (const Tensor& tensor : tensors) *to++ = is_within(tensor, limit);
  return result;
}

}  // namespace lehi::python
