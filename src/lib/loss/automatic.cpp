#include "lehi/automatic.h"

#include <torch/torch.h>

#include "kernels/draws.h"
#include "lehi/error.h"
#include "loss/checks.h"
#include "runtime/message.h"

namespace lehi {
namespace {

using torch::Tensor;

// Sample number of the signs of the one-time check; Hutchinson's estimate uses the lower ones.
constexpr std::uint32_t check_sample = 0xFFFFFF;

// One evaluation of the user's function, with the graph from the predictions to the losses.
struct Graph {
  Tensor predictions;  // leaf
  Tensor losses;
  Tensor gradient;  // d(sum)/dp; has a graph if keep_graph was true
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  bool elementwise = false;
};

Tensor random_signs(const Graph& graph, const RandomKey& key, std::uint32_t sample) {
  const kernels::Draws draws(key);
  Tensor signs = torch::empty({graph.rows, graph.outputs}, torch::kFloat64);
  for (std::int64_t row = 0; row < graph.rows; ++row) {
    draws.signs(row, graph.outputs, signs.data_ptr<double>() + row * graph.outputs, sample);
  }
  return signs.view_as(graph.predictions).to(graph.predictions.options().requires_grad(false));
}

void check_shape(const std::string& name, const Tensor& predictions, const Tensor& losses) {
  if (!losses.defined()) throw_invalid_argument("{}: the function returned an undefined tensor", name);
  const auto p = predictions.sizes();
  const RowShape shape = row_shape(predictions);
  const bool fits = losses.sizes() == p || losses.sizes() == at::IntArrayRef(shape.rows) ||
                    losses.sizes() == p.slice(0, p.size() - 1);
  if (fits && losses.dim() > 0) return;
  throw_invalid_argument(
      "{}: the function returned losses of shape {} for predictions of shape {}; expected the predictions' shape, or "
      "one loss per row, [{}], not their sum or mean",
      name, shape_string(losses.sizes()), shape_string(p), shape.rows);
}

Graph differentiate(const std::string& name, const Automatic::Function& function, const Tensor& predictions,
                    const Tensor& targets, bool keep_graph) {
  const torch::AutoGradMode with_graph(true);
  Graph graph;
  graph.predictions = predictions.detach().clone().requires_grad_();
  graph.losses = function(graph.predictions, targets);
  check_shape(name, predictions, graph.losses);
  graph.rows = row_shape(predictions).rows;
  graph.outputs = row_shape(predictions).outputs;
  graph.elementwise = graph.losses.sizes() == predictions.sizes();
  if (!graph.losses.requires_grad()) {
    throw_invalid_argument(
        "{}: the function's result does not depend on the predictions through differentiable operations", name);
  }
  const Tensor finite = torch::isfinite(graph.losses.detach()).flatten();
  if (!finite.all().item<bool>()) {
    const auto index = finite.logical_not().to(torch::kUInt8).argmax().item<std::int64_t>();
    throw NonFiniteError(fmt::format("{}: the function's loss number {} is {}", name, index,
                                     graph.losses.detach().flatten()[index].item<double>()));
  }
  graph.gradient = torch::autograd::grad({graph.losses.sum()}, {graph.predictions}, {}, true, keep_graph, true).at(0);
  if (!graph.gradient.defined()) {
    throw_invalid_argument("{}: the function's result does not depend on the predictions", name);
  }
  return graph;
}

// H w for any w of the predictions' shape, by one backward pass; 0 if the gradient is independent of the predictions.
Tensor hessian_times(const Graph& graph, const Tensor& w) {
  if (!graph.gradient.requires_grad()) return torch::zeros_like(graph.predictions).detach();
  const torch::AutoGradMode with_graph(true);
  const Tensor result =
      torch::autograd::grad({(graph.gradient * w).sum()}, {graph.predictions}, {}, true, false, true).at(0);
  return result.defined() ? result.detach() : torch::zeros_like(graph.predictions).detach();
}

// The Hessian of every row, [rows, outputs, outputs], by one backward pass per output.
Tensor exact_hessian(const Graph& graph) {
  std::vector<Tensor> columns;
  for (std::int64_t j = 0; j < graph.outputs; ++j) {
    Tensor unit = torch::zeros({graph.rows, graph.outputs}, graph.predictions.options().requires_grad(false));
    unit.select(1, j).fill_(1.0);
    columns.push_back(hessian_times(graph, unit.view_as(graph.predictions)).reshape({graph.rows, graph.outputs}));
  }
  return torch::stack(columns, 2);
}

Tensor hutchinson(const Graph& graph, const RandomKey& key, std::int64_t samples) {
  Tensor sum = torch::zeros_like(graph.predictions).detach();
  for (std::int64_t k = 0; k < samples; ++k) {
    const Tensor signs = random_signs(graph, key, static_cast<std::uint32_t>(k));
    sum += signs * hessian_times(graph, signs);
  }
  return sum / static_cast<double>(samples);
}

// Second derivatives: the diagonal, and the whole matrix if it was computed.
struct Curvature {
  Tensor diagonal;  // the predictions' shape
  Tensor matrix;    // [rows, outputs, outputs] for few coupled outputs, else undefined
};

Curvature curvature_of(const Graph& graph, const RandomKey& key, const AutomaticOptions& options) {
  Curvature result;
  if (graph.elementwise) {
    result.diagonal = hessian_times(graph, torch::ones_like(graph.predictions).detach());
  } else if (graph.outputs <= options.exact_outputs) {
    result.matrix = exact_hessian(graph);
    result.diagonal = result.matrix.diagonal(0, 1, 2).reshape(graph.predictions.sizes());
  } else {
    result.diagonal = hutchinson(graph, key, options.samples);
  }
  return result;
}

// Throws if a loss depends on another output, or another row, than its own: compares H times random signs with what
// `curvature` gives for it.
void check_independence(const std::string& name, const Graph& graph, const Curvature& curvature) {
  if (!graph.elementwise && !curvature.matrix.defined()) return;  // Hutchinson's estimate is not exact
  const Tensor signs = random_signs(graph, {}, check_sample);
  const Tensor exact = hessian_times(graph, signs);
  const Tensor expected =
      graph.elementwise
          ? curvature.diagonal * signs
          : torch::matmul(curvature.matrix, signs.reshape({graph.rows, graph.outputs, 1})).reshape(exact.sizes());
  const double tolerance = exact.scalar_type() == torch::kFloat32 ? 1e-3 : 1e-8;
  if ((exact - expected).abs().max().item<double>() <= tolerance * exact.abs().max().item<double>()) return;
  if (graph.elementwise) {
    throw_invalid_argument(
        "{}: the function returned one loss per output, but some depend on other outputs too: return one loss per row",
        name);
  }
  throw_invalid_argument(
      "{}: the function returned one loss per row, but some depend on other rows too: rows must be independent", name);
}

// Throws if the loss has gradients but no curvature. False if this batch does not show which: beyond its margin a
// squared hinge has neither.
bool has_curvature(const std::string& name, const Graph& graph, const Curvature& curvature) {
  if (torch::count_nonzero(curvature.diagonal).item<std::int64_t>() > 0) return true;
  if (torch::count_nonzero(graph.gradient.detach()).item<std::int64_t>() == 0) return false;
  throw_invalid_argument(
      "{}: its second derivatives are 0 at every prediction of this batch; a loss without curvature, such as the "
      "absolute error, cannot be used with a curvature probe: use the gradient probe",
      name);
}

// H^(1/2) r. The symmetric square root does not depend on the signs of the eigenvectors, so that equal rows give
// equal probes.
Tensor root_times_signs(const std::string& name, const Graph& graph, const Curvature& curvature, const Tensor& signs) {
  const auto throw_negative = [&](std::int64_t row, double value) {
    throw_invalid_argument(
        "{}: the curvature of row {} is negative ({}), so it has no gauss-newton factor: use the diagonal probe", name,
        row, value);
  };
  if (graph.elementwise) {
    const auto least = curvature.diagonal.min().item<double>();
    if (least < 0.0) throw_negative(curvature.diagonal.argmin().item<std::int64_t>() / graph.outputs, least);
    return curvature.diagonal.sqrt() * signs;
  }
  const auto [values, vectors] = torch::linalg_eigh(curvature.matrix.to(torch::kFloat64));
  // Rounding makes zero eigenvalues slightly negative, relative to the largest one of the row.
  const double rounding = curvature.matrix.scalar_type() == torch::kFloat32 ? 1e-5 : 1e-12;
  const Tensor least = std::get<0>(values.min(1));
  const Tensor bad = least < -rounding * values.abs().amax(1);
  if (bad.any().item<bool>()) {
    const auto row = bad.to(torch::kUInt8).argmax().item<std::int64_t>();
    throw_negative(row, least[row].item<double>());
  }
  const Tensor r = signs.reshape({graph.rows, graph.outputs, 1}).to(torch::kFloat64);
  const Tensor scaled = values.clamp_min(0.0).sqrt().unsqueeze(2) * torch::matmul(vectors.transpose(1, 2), r);
  return torch::matmul(vectors, scaled).reshape(graph.predictions.sizes());
}

}  // namespace

Automatic::Automatic(Function function, AutomaticOptions options)
    : function_(std::move(function)),
      options_(std::move(options)),
      checked_(std::make_shared<std::atomic<bool>>(false)) {
  if (!function_) throw_invalid_argument("{}: the function is empty", options_.name);
  if (options_.exact_outputs < 0) {
    throw_invalid_argument("{}: exact_outputs is {}; expected 0 or more", options_.name, options_.exact_outputs);
  }
  if (options_.samples < 1 || options_.samples >= check_sample) {
    throw_invalid_argument("{}: samples is {}; expected 1 to {}", options_.name, options_.samples, check_sample - 1);
  }
}

bool Automatic::supports(Probe probe) const { return probe != Probe::sampled_label; }

void Automatic::compute(const Tensor& predictions, const Tensor& targets, const ProbeRequest& request,
                        Evaluation& out) const {
  check_finite(name(), predictions);
  const bool needs_curvature = request.probe != Probe::gradient;
  const Graph graph = differentiate(name(), function_, predictions, targets, needs_curvature);
  out.sum = graph.losses.detach().sum(torch::kFloat64).item<double>();
  out.count = static_cast<double>(graph.rows);
  out.gradient.copy_(graph.gradient.detach());
  if (!needs_curvature) return;

  if (request.probe == Probe::gauss_newton && !graph.elementwise && graph.outputs > options_.exact_outputs) {
    throw_invalid_argument(
        "{}: the gauss-newton probe of coupled outputs needs their whole Hessian, which is computed for at most {} "
        "outputs, not {}: raise exact_outputs or use the diagonal probe",
        name(), options_.exact_outputs, graph.outputs);
  }
  const Curvature curvature = curvature_of(graph, request.key, options_);
  if (!checked_->load()) {
    check_independence(name(), graph, curvature);
    if (has_curvature(name(), graph, curvature)) checked_->store(true);
  }
  if (request.probe == Probe::gauss_newton) {
    out.probe.copy_(root_times_signs(name(), graph, curvature, random_signs(graph, request.key, 0)));
  } else {
    out.probe.copy_(curvature.diagonal.abs().sqrt());
  }
}

Tensor Automatic::second_derivatives(const Tensor& predictions, const Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  check_finite(name(), values);
  const Graph graph = differentiate(name(), function_, values, aims, true);
  return curvature_of(graph, {}, options_).diagonal;
}

Tensor Automatic::hessian(const Tensor& predictions, const Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  check_finite(name(), values);
  const Graph graph = differentiate(name(), function_, values, aims, true);
  if (!graph.elementwise) return exact_hessian(graph);
  const Tensor diagonal = hessian_times(graph, torch::ones_like(graph.predictions).detach());
  return torch::diag_embed(diagonal.reshape({graph.rows, graph.outputs}));
}

}  // namespace lehi
