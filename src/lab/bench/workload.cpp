#include "bench/workload.h"

#include <algorithm>

#include "bench/contest.h"
#include "bench/difference.h"
#include "lehi/cross_entropy.h"
#include "lehi/linear_cross_entropy.h"
#include "model/mlp.h"
#include "model/resnet.h"

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
  workload.steps_per_turn = 400;
  return workload;
}

void Workload::warm_up(Optimizer& optimizer) const {
  const std::int64_t rows = std::min<std::int64_t>(2, inputs.size(0));
  optimizer.step(network->forward(inputs.narrow(0, 0, rows), {}), *loss, targets.narrow(0, 0, rows));
}

Options frozen_options(Preset which) {
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

}  // namespace lehi::bench
