#include "loss/checks.h"

#include "lehi/error.h"
#include "ops/rounding.h"
#include "runtime/message.h"

namespace lehi {

std::string shape_string(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

std::string position_of(const torch::Tensor& predictions, std::int64_t flat_index) {
  const std::int64_t outputs = row_shape(predictions).outputs;
  if (outputs == 1) return fmt::format("row {}", flat_index);
  return fmt::format("row {}, output {}", flat_index / outputs, flat_index % outputs);
}

LossInputs checked_inputs(const Loss& loss, const torch::Tensor& predictions, const torch::Tensor& targets) {
  const std::string name = loss.name();
  if (!predictions.defined()) throw_invalid_argument("{}: the predictions are an undefined tensor", name);
  if (!targets.defined()) throw_invalid_argument("{}: the targets are an undefined tensor", name);
  if (predictions.layout() != torch::kStrided || targets.layout() != torch::kStrided) {
    throw_invalid_argument("{}: predictions and targets must be dense tensors, not sparse ones: use .to_dense()", name);
  }
  const auto dtype = predictions.scalar_type();
  const bool narrow = ops::is_sixteen_bit(dtype);
  if (!narrow && dtype != torch::kFloat32 && dtype != torch::kFloat64) {
    throw_invalid_argument(
        "{}: predictions must be float32, float64, bfloat16 or float16, not {}: convert them with .to(torch::kFloat32)",
        name, c10::toString(dtype));
  }
  if (predictions.dim() == 0) {
    throw_invalid_argument("{}: predictions are a single number without a row dimension: use .unsqueeze(0)", name);
  }
  if (predictions.numel() == 0) {
    throw_invalid_argument("{}: predictions of shape {} are empty: the mean needs at least one row", name,
                           shape_string(predictions.sizes()));
  }
  if (predictions.device() != targets.device()) {
    throw_invalid_argument("{}: predictions are on {} and targets on {}: move them to one device", name,
                           predictions.device().str(), targets.device().str());
  }
  if (!narrow) return {predictions.detach().contiguous(), targets.detach()};
  return {predictions.detach().to(torch::kFloat32).contiguous(), widened(targets.detach())};
}

torch::Tensor widened(const torch::Tensor& tensor) {
  return ops::is_sixteen_bit(tensor.scalar_type()) ? tensor.to(torch::kFloat32) : tensor;
}

void check_finite(const std::string& loss, const torch::Tensor& predictions) {
  const auto good = torch::isfinite(predictions).flatten();
  if (good.all().item<bool>()) return;
  const auto index = (~good).to(torch::kUInt8).argmax().item<std::int64_t>();
  throw NonFiniteError(fmt::format("{}: the prediction at {} is {}: the model diverged, or its input was not finite",
                                   loss, position_of(predictions, index), predictions.flatten()[index].item<double>()));
}

}  // namespace lehi
