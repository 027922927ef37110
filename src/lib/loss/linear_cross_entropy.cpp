#include "lehi/linear_cross_entropy.h"

#include <algorithm>

#include "loss/checks.h"
#include "ops/rounding.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

constexpr std::int64_t chunk_entries = std::int64_t{1} << 24;

// Buffers for the logits, u and (count 3) v of a chunk.
void make_workspace(std::vector<Tensor>& workspace, std::size_t count, std::int64_t chunk_rows, const Tensor& weight) {
  const auto fits = [&](const Tensor& buffer) {
    return buffer.dim() == 2 && buffer.size(0) >= chunk_rows && buffer.size(1) == weight.size(0) &&
           buffer.dtype() == weight.dtype() && buffer.device() == weight.device();
  };
  if (!std::all_of(workspace.begin(), workspace.end(), fits)) workspace.clear();
  while (workspace.size() < count) workspace.push_back(torch::empty({chunk_rows, weight.size(0)}, weight.options()));
}

}  // namespace

LinearCrossEntropy::LinearCrossEntropy(Tensor weight, CrossEntropyOptions options, std::int64_t chunk_rows)
    : weight_(std::move(weight)), head_(std::move(options)), chunk_rows_(chunk_rows) {
  if (!weight_.defined() || weight_.dim() != 2 || weight_.numel() == 0) {
    throw_invalid_argument("linear-cross-entropy: the weight must have the shape [classes, width], not {}",
                           weight_.defined() ? shape_string(weight_.sizes()) : "undefined");
  }
  const auto dtype = weight_.scalar_type();
  if (!ops::is_sixteen_bit(dtype) && dtype != torch::kFloat32 && dtype != torch::kFloat64) {
    throw_invalid_argument("linear-cross-entropy: the weight must be float32, float64, bfloat16 or float16, not {}",
                           c10::toString(dtype));
  }
  if (chunk_rows < 0) throw_invalid_argument("linear-cross-entropy: chunk_rows is {}; expected 0 or more", chunk_rows);
  if (chunk_rows_ == 0) chunk_rows_ = std::max<std::int64_t>(1, chunk_entries / weight_.size(0));
}

template <class Visit>
void LinearCrossEntropy::for_each_chunk(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                                        const ProbeRequest& request, Evaluation& out, Visit&& visit) const {
  const std::int64_t width = weight.size(1);
  if (hidden.size(-1) != width || hidden.scalar_type() != weight.scalar_type()) {
    throw_invalid_argument(
        "linear-cross-entropy: the hidden values are {} {}; expected {} [..., {}], to match the weight of shape {}",
        c10::toString(hidden.scalar_type()), shape_string(hidden.sizes()), c10::toString(weight.scalar_type()), width,
        shape_string(weight.sizes()));
  }
  const bool by_index = targets.scalar_type() == torch::kInt64;
  auto expected = hidden.sizes().vec();
  expected.pop_back();
  if (!by_index) expected.push_back(weight.size(0));
  if (targets.sizes() != expected) {
    throw_invalid_argument("linear-cross-entropy: the targets have shape {}; expected {}",
                           shape_string(targets.sizes()), shape_string(expected));
  }
  const Tensor rows = hidden.view({-1, width});
  const Tensor row_targets = by_index ? targets.reshape({-1}) : targets.reshape({-1, weight.size(0)});
  const Tensor transposed = weight.t();
  out.sum = out.count = 0.0;
  // Chunks of nearly equal size: the matrix product of a short last chunk would be inefficient.
  const std::int64_t chunks = std::max<std::int64_t>(1, (rows.size(0) + chunk_rows_ - 1) / chunk_rows_);
  const std::int64_t chunk_size = (rows.size(0) + chunks - 1) / chunks;
  make_workspace(out.workspace, request.probe == Probe::gradient ? 2 : 3, chunk_size, weight);
  Evaluation chunk;
  for (std::int64_t first = 0; first < rows.size(0); first += chunk_size) {
    const std::int64_t some = std::min(chunk_size, rows.size(0) - first);
    const Tensor part = rows.narrow(0, first, some);
    Tensor logits = out.workspace[0].narrow(0, 0, some);
    chunk.gradient = out.workspace[1].narrow(0, 0, some);
    if (request.probe != Probe::gradient) chunk.probe = out.workspace[2].narrow(0, 0, some);
    torch::mm_out(logits, part, transposed);
    ProbeRequest own = request;
    own.key.first_row += static_cast<std::uint64_t>(first);
    head_.evaluate(logits, row_targets.narrow(0, first, some), own, chunk);
    out.sum += chunk.sum;
    out.count += chunk.count;
    visit(first, part, chunk);
  }
}

void LinearCrossEntropy::compute(const Tensor& hidden, const Tensor& targets, const ProbeRequest& request,
                                 Evaluation& out) const {
  const Tensor weight = widened(weight_.detach());
  const bool second = request.probe != Probe::gradient;
  const auto start = [&](std::vector<Tensor>& sums) {
    const bool fits =
        sums.size() == 1 && sums[0].defined() && sums[0].sizes() == weight.sizes() && sums[0].dtype() == weight.dtype();
    if (!fits) sums = {torch::empty(weight.sizes(), weight.options())};
  };
  start(out.parameter_gradients);
  if (second) {
    start(out.parameter_probes);
  } else {
    out.parameter_probes.clear();
  }
  const std::int64_t width = weight.size(1);
  const auto pull = [&](const Tensor& cotangent, std::int64_t first, const Tensor& part, const Tensor& to_hidden,
                        Tensor& to_weight) {
    Tensor place = to_hidden.view({-1, width}).narrow(0, first, part.size(0));
    torch::mm_out(place, cotangent, weight);
    // The first chunk overwrites the buffer: with beta 0 addmm does not read it, so that old NaNs do no harm.
    to_weight.addmm_(cotangent.t(), part, /*beta=*/first == 0 ? 0 : 1);
  };
  for_each_chunk(hidden, weight, targets, request, out,
                 [&](std::int64_t first, const Tensor& part, const Evaluation& chunk) {
                   pull(chunk.gradient, first, part, out.gradient, out.parameter_gradients[0]);
                   if (second) pull(chunk.probe, first, part, out.probe, out.parameter_probes[0]);
                 });
}

Evaluation LinearCrossEntropy::value(const Tensor& hidden, const Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, hidden, targets);
  Evaluation out;
  out.rows = row_shape(values).rows;
  for_each_chunk(values, widened(weight_.detach()), aims, {}, out,
                 [](std::int64_t, const Tensor&, const Evaluation&) {});
  return out;
}

Tensor LinearCrossEntropy::second_derivatives(const Tensor& hidden, const Tensor& targets) const {
  return hessian(hidden, targets).diagonal(0, 1, 2).reshape(hidden.sizes()).contiguous();
}

// W^T (d2l/dp2) W of each row.
Tensor LinearCrossEntropy::hessian(const Tensor& hidden, const Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, hidden, targets);
  const Tensor weight = widened(weight_.detach());
  const Tensor inner = head_.hessian(torch::matmul(values, weight.t()), aims);
  return torch::matmul(torch::matmul(weight.t(), inner), weight);
}

}  // namespace lehi
