#include "optim/backward.h"

#include <map>

#include "curvature/pull_back.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

struct Pair {
  Tensor g;
  Tensor s;
};

// sum += part; a sparse part has rows of the first dimension.
void add_to(Tensor& sum, const Tensor& part) {
  if (part.is_sparse()) {
    sum.index_add_(0, part._indices()[0], part._values());
  } else {
    sum.add_(part);
  }
}

Tensor dense(const Tensor& tensor) { return tensor.is_sparse() ? tensor.to_dense() : tensor; }

Tensor sum_of(const Tensor& a, const Tensor& b) { return a.defined() ? a + b : b; }

// g and s that the losses themselves have for their own parameters (Loss::parameters()), by index.
using LossGradients = std::map<std::size_t, Pair>;

LossGradients loss_gradients(std::span<const Term> terms, std::span<const Evaluation> evaluations, bool second,
                             const ParameterTable& parameters) {
  LossGradients result;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Tensors own = terms[t].loss.get().parameters();
    for (std::size_t p = 0; p < own.size(); ++p) {
      const auto index = parameters.find(own[p]);
      if (!index) continue;  // frozen, or another optimizer's
      Pair& pair = result[*index];
      pair.g = sum_of(pair.g, evaluations[t].parameter_gradients[p]);
      if (second) pair.s = sum_of(pair.s, evaluations[t].parameter_probes[p]);
    }
  }
  return result;
}

void check_delivery(const Tensors& pulled, std::size_t cotangents, const Tensor& parameter, std::size_t index) {
  if (pulled.size() != cotangents) {
    throw_invalid_argument("the network's pull_back delivered {} tensors of parameter {} for {} cotangents",
                           pulled.size(), index, cotangents);
  }
  for (const Tensor& tensor : pulled) {
    if (!tensor.defined()) {
      throw_invalid_argument("the network's pull_back delivered an undefined tensor of parameter {}", index);
    }
    if (tensor.sizes() == parameter.sizes()) continue;
    throw_invalid_argument("the network's pull_back delivered shape [{}] of parameter {}, which has shape [{}]",
                           fmt::join(tensor.sizes(), ", "), index, fmt::join(parameter.sizes(), ", "));
  }
}

// The network's own pull_back.
void backward_by_network(const Term& term, const Evaluation& evaluation, bool second, const ParameterTable& parameters,
                         LossGradients& own, const GradientSink& sink) {
  const torch::NoGradGuard no_grad;
  Tensors cotangents = {evaluation.gradient};
  if (second) cotangents.push_back(evaluation.probe);
  std::vector<bool> delivered(parameters.size(), false);
  bool any = !own.empty();
  term.pull_back(cotangents, [&](const Tensor& parameter, const Tensors& pulled) {
    const auto found = parameters.find(parameter);
    if (!found) return;  // frozen, or another optimizer's
    const std::size_t index = *found;
    check_delivery(pulled, cotangents.size(), parameter, index);
    if (delivered[index]) throw_invalid_argument("the network's pull_back delivered parameter {} twice", index);
    delivered[index] = any = true;
    if (const auto shared = own.find(index); shared != own.end()) {
      Pair sum = std::move(shared->second);
      own.erase(shared);
      add_to(sum.g, pulled[0]);
      if (second) add_to(sum.s, pulled[1]);
      sink(index, sum.g, sum.s);
    } else {
      sink(index, dense(pulled[0]), second ? dense(pulled[1]) : Tensor());
    }
  });
  for (const auto& [index, pair] : own) sink(index, pair.g, pair.s);
  const bool no_rows = cotangents.front().numel() == 0;
  if (!any && !no_rows) {
    throw_invalid_argument("none of the optimizer's parameters takes part in the network: there is nothing to train");
  }
}

// autograd, once for u and once for v.
void backward_by_graph(std::span<const Term> terms, std::span<const Evaluation> evaluations, bool second,
                       const ParameterTable& parameters, const LossGradients& own, bool keep_graph,
                       const GradientSink& sink) {
  Tensors predictions;
  Tensors u;
  Tensors v;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    predictions.push_back(terms[t].predictions);
    u.push_back(evaluations[t].gradient);
    if (second) v.push_back(evaluations[t].probe);
  }
  Tensors g = pull_back(predictions, u, parameters.tensors(), keep_graph || second);
  for (const auto& [index, pair] : own) g[index] = sum_of(g[index], pair.g);
  Tensors s(g.size());
  if (second) {
    s = pull_back(predictions, v, parameters.tensors(), keep_graph);
    for (const auto& [index, pair] : own) s[index] = sum_of(s[index], pair.s);
  }
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined()) continue;
    sink(i, std::exchange(g[i], {}), std::exchange(s[i], {}));
  }
}

}  // namespace

void backward(std::span<const Term> terms, std::span<const Evaluation> evaluations, bool second,
              const ParameterTable& parameters, bool keep_graph, const GradientSink& sink) {
  LossGradients own = loss_gradients(terms, evaluations, second, parameters);
  if (terms.front().pull_back) {
    backward_by_network(terms.front(), evaluations.front(), second, parameters, own, sink);
  } else {
    backward_by_graph(terms, evaluations, second, parameters, own, keep_graph, sink);
  }
}

void deliver_grad(const ParameterTable& parameters, const GradientSink& sink) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& gradient = parameters.tensor(i).grad();
    if (!gradient.defined()) continue;
    if (gradient.layout() != torch::kStrided) {
      throw_invalid_argument("a parameter has a sparse .grad(): use dense embeddings (sparse = false)");
    }
    sink(i, gradient.detach(), {});
  }
}

}  // namespace lehi
