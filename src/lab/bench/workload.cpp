#include "bench/workload.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "bench/contest.h"
#include "bench/plain_models.h"
#include "lehi/linear_cross_entropy.h"
#include "model/mlp.h"
#include "model/resnet.h"
#include "runtime/message.h"

namespace lehi::bench {

using torch::Tensor;

Workload gpt2_workload(const model::Gpt2Shape& shape, std::int64_t rows, std::int64_t tokens, bool recompute) {
  torch::manual_seed(0);
  Workload workload{.name = "gpt2", .network = model::make_gpt2(shape, 0, recompute)};
  workload.inputs = torch::randint(0, shape.vocabulary, {rows, tokens}, torch::kInt64);
  workload.targets = torch::randint(0, shape.vocabulary, {rows, tokens}, torch::kInt64);
  workload.loss = std::make_shared<LinearCrossEntropy>(workload.network->head());
  return workload;
}

Workload resnet_workload(std::int64_t rows) {
  torch::manual_seed(0);
  Workload workload{.name = "resnet", .network = model::make_resnet({}, 0)};
  workload.inputs = torch::randn({rows, 3, 32, 32});
  workload.targets = torch::randint(0, 10, {rows}, torch::kInt64);
  workload.loss = std::make_shared<CrossEntropy>();
  return workload;
}

Workload mnist_workload(std::int64_t rows) {
  torch::manual_seed(0);
  Workload workload{.name = "mnist",
                    .network = std::make_shared<model::Mlp>(std::vector<std::int64_t>{784, 50, 10}, 0)};
  workload.inputs = torch::randn({rows, 784});
  workload.targets = torch::randint(0, 10, {rows}, torch::kInt64);
  workload.loss = std::make_shared<CrossEntropy>();
  workload.steps_a_turn = 400;
  return workload;
}

void Workload::warm_up(Optimizer& optimizer) const {
  const std::int64_t rows = std::min<std::int64_t>(2, inputs.size(0));
  optimizer.step(network->forward(inputs.narrow(0, 0, rows), {}), *loss, targets.narrow(0, 0, rows));
}

Options still(Preset which) {
  Options options = preset(which);
  options.group.lr = 1e-7;
  return options;
}

double seconds_of_backward(const Workload& workload) {
  const auto forward = workload.network->forward(workload.inputs, {});
  const Tensor cotangent = torch::randn_like(forward.predictions);
  const auto ignore = [](const Tensor&, const Tensors&) {};
  const Tensor weight = workload.network->head();
  if (!weight.defined()) return seconds_of([&] { forward.pull_back({cotangent}, ignore); });

  const torch::NoGradGuard no_grad;
  const Tensor hidden = forward.predictions.reshape({-1, weight.size(1)});
  const std::int64_t chunk = std::min(hidden.size(0), (std::int64_t{1} << 24) / weight.size(0));
  const Tensor of_logits = torch::full({chunk, weight.size(0)}, 1e-3f);
  Tensor to_hidden = torch::empty_like(hidden);
  Tensor to_weight = torch::zeros_like(weight);
  return seconds_of([&] {
    for (std::int64_t first = 0; first < hidden.size(0); first += chunk) {
      const std::int64_t some = std::min(chunk, hidden.size(0) - first);
      Tensor place = to_hidden.narrow(0, first, some);
      torch::mm_out(place, of_logits.narrow(0, 0, some), weight);
      to_weight.addmm_(of_logits.narrow(0, 0, some).t(), hidden.narrow(0, first, some));
    }
    forward.pull_back({cotangent}, ignore);
  });
}

namespace {

// u, v and what both become at each parameter.
struct PulledBack {
  Tensors g, s;
};

PulledBack pulled_by_ours(const Workload& workload) {
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

PulledBack pulled_by_autograd(const Workload& workload, const PlainModel& plain) {
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
  const auto ours = pulled_by_ours(workload);
  const auto theirs = pulled_by_autograd(workload, plain);
  return std::max(largest_difference(ours.g, theirs.g), largest_difference(ours.s, theirs.s));
}

}  // namespace lehi::bench
