#include "bench/workload_difference.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "bench/plain_models.h"
#include "bench/workload.h"
#include "lehi/cross_entropy.h"
#include "runtime/message.h"

namespace lehi::bench {

using torch::Tensor;

namespace {

// u and v pulled back to each parameter.
struct PulledBack {
  Tensors g, s;
};

PulledBack pulled_back_by_network(const Workload& workload) {
  const auto& parameters = workload.network->named_parameters().items();
  PulledBack result{Tensors(parameters.size()), Tensors(parameters.size())};
  const auto forward = workload.network->forward(workload.inputs, {});
  const auto evaluation = workload.loss->evaluate(forward.predictions, workload.targets, {.probe = Probe::imitation});
  const auto place_of = [&](const Tensor& parameter) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].value().is_same(parameter)) return i;
    }
    throw_invalid_argument("a parameter of {} has no name", workload.name);
  };
  const torch::NoGradGuard no_grad;
  const auto add = [&](const Tensor& parameter, const Tensors& pulled) {
    const std::size_t place = place_of(parameter);
    const auto join = [](Tensor& sum, const Tensor& part) {
      const Tensor dense = part.is_sparse() ? part.to_dense() : part.clone();
      sum = sum.defined() ? sum + dense : dense;
    };
    join(result.g[place], pulled[0]);
    join(result.s[place], pulled[1]);
  };
  forward.pull_back({evaluation.gradient, evaluation.probe}, add);
  const auto own = workload.loss->parameters();
  for (std::size_t i = 0; i < own.size(); ++i) {
    add(own[i], {evaluation.parameter_gradients[i], evaluation.parameter_probes[i]});
  }
  return result;
}

PulledBack pulled_back_by_autograd(const Workload& workload, const PlainModel& plain) {
  const Tensor logits = plain.logits(workload.inputs);
  const Tensor flat = logits.reshape({-1, logits.size(-1)});
  const auto evaluation =
      CrossEntropy().evaluate(flat.detach(), workload.targets.reshape({-1}), {.probe = Probe::imitation});
  PulledBack result;
  result.g = torch::autograd::grad({flat}, plain.parameters, {evaluation.gradient}, /*retain_graph=*/true);
  result.s = torch::autograd::grad({flat}, plain.parameters, {evaluation.probe});
  return result;
}

}  // namespace

double workload_difference(const std::string& name) {
  Workload workload;
  PlainModel plain;
  if (name == "gpt2") {
    const model::Gpt2Shape shape{.vocabulary = 1003, .context = 64, .width = 768, .layers = 2, .heads = 12};
    workload = gpt2_workload(shape, 2, 33);
    plain = plain_gpt2(workload.network->named_parameters(), shape);
  } else if (name == "resnet") {
    workload = resnet_workload(3);
    plain = plain_resnet(workload.network->named_parameters());
  } else {
    workload = mnist_workload(65);
    plain = plain_mlp(workload.network->named_parameters());
  }
  const auto ours = pulled_back_by_network(workload);
  const auto theirs = pulled_back_by_autograd(workload, plain);
  return std::max(largest_difference(ours.g, theirs.g), largest_difference(ours.s, theirs.s));
}

}  // namespace lehi::bench
