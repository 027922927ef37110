// Shared by all losses: checks, reuse of buffers, and the Hessian of an elementwise loss.
#include "lehi/loss.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "loss/checks.h"
#include "runtime/message.h"

namespace lehi {
namespace {

[[noreturn]] void throw_unsupported_probe(const Loss& loss, Probe probe) {
  std::vector<std::string_view> supported;
  for (const Probe other : all_probes()) {
    if (loss.supports(other)) supported.push_back(name(other));
  }
  throw_invalid_argument("{} has no {} probe; it has {}", loss.name(), name(probe), fmt::join(supported, ", "));
}

void resize_buffer(torch::Tensor& buffer, const torch::Tensor& like) {
  const bool fits = buffer.defined() && buffer.sizes() == like.sizes() && buffer.dtype() == like.dtype() &&
                    buffer.device() == like.device() && buffer.layout() == torch::kStrided && buffer.is_contiguous() &&
                    !buffer.requires_grad() && !buffer.is_alias_of(like);
  if (!fits) buffer = torch::empty(like.sizes(), like.options());
}

void swap_wide(Evaluation& out) {
  std::swap(out.gradient, out.wide_gradient);
  std::swap(out.probe, out.wide_probe);
}

// `wide` in the predictions' type.
void narrowed(const torch::Tensor& wide, const torch::Tensor& predictions, torch::Tensor& result) {
  if (!wide.defined()) return result.reset();
  resize_buffer(result, predictions);
  result.copy_(wide);
}

}  // namespace

RowShape row_shape(const torch::Tensor& predictions) {
  if (predictions.dim() == 0) return {1, 1};
  if (predictions.dim() == 1) return {predictions.size(0), 1};
  const std::int64_t outputs = predictions.size(-1);
  return {outputs == 0 ? 0 : predictions.numel() / outputs, outputs};
}

void Loss::evaluate(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                    Evaluation& out) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  if (!supports(request.probe)) throw_unsupported_probe(*this, request.probe);
  const bool narrow = predictions.scalar_type() != values.scalar_type();
  if (narrow) swap_wide(out);
  resize_buffer(out.gradient, values);
  if (request.probe == Probe::gradient) {
    out.probe.reset();
  } else {
    resize_buffer(out.probe, values);
  }
  out.rows = row_shape(values).rows;
  compute(values, aims, request, out);
  if (!narrow) return;
  swap_wide(out);
  narrowed(out.wide_gradient, predictions.detach(), out.gradient);
  narrowed(out.wide_probe, predictions.detach(), out.probe);
}

Evaluation Loss::evaluate(const torch::Tensor& predictions, const torch::Tensor& targets,
                          const ProbeRequest& request) const {
  Evaluation out;
  evaluate(predictions, targets, request, out);
  return out;
}

torch::Tensor Loss::hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const {
  const torch::Tensor diagonal = second_derivatives(predictions, targets);
  const auto [rows, outputs] = row_shape(predictions);
  return torch::diag_embed(diagonal.reshape({rows, outputs}));
}

}  // namespace lehi
