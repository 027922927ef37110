// The topic "update": the update of 124 million float32 weights in GPT-2 small's shapes, as kernel calls alone and as
// steps of lehi::Optimizer, which also computes norms and checks for non-finite values. Optimizers with a probe use it
// at every step, which is the most expensive case.
#include "ops/update.h"

#include <torch/optim/adamw.h>

#include <array>
#include <memory>

#include "bench/contest.h"
#include "bench/difference.h"
#include "bench/session.h"
#include "bench/streams.h"
#include "lehi/cross_entropy.h"
#include "lehi/presets.h"
#include "model/gpt2.h"
#include "plan/coefficients.h"

namespace lehi::bench {
namespace {

using torch::Tensor;

constexpr std::array updated_presets = {Preset::adamw, Preset::lehi, Preset::lehi_gn, Preset::sophia_g};

// Weights with their g and s; each is a view of one long tensor.
struct Arrays {
  Tensor w, g, s;
  Tensors weights, gradients, probes;
};

Arrays make_arrays(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::int64_t size = 0;
  for (const auto& sizes : shapes) size += c10::multiply_integers(sizes);
  torch::manual_seed(0);
  Arrays arrays{.w = torch::rand({size}), .g = torch::rand({size}), .s = torch::rand({size})};
  std::int64_t first = 0;
  for (const auto& sizes : shapes) {
    const std::int64_t some = c10::multiply_integers(sizes);
    const auto part = [&](const Tensor& whole) { return whole.narrow(0, first, some).view(sizes); };
    arrays.weights.push_back(part(arrays.w));
    arrays.gradients.push_back(part(arrays.g));
    arrays.probes.push_back(part(arrays.s));
    first += some;
  }
  return arrays;
}

Options update_options(Preset which, double lr) {
  Options options = preset(which);
  options.recipe.schedule = {};  // a probe at every step
  options.group.lr = lr;
  return options;
}

// A network without cost: its backward pass delivers the given gradients and probes.
class FreeNetwork {
 public:
  explicit FreeNetwork(const Arrays& arrays) {
    network_.predictions = torch::tensor({{0.1, 0.2, 0.3}}, torch::kFloat32);
    network_.pull_back = [&arrays](const Tensors& cotangents, const Differentiable::Deliver& deliver) {
      for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
        Tensors pulled = {arrays.gradients[i]};
        if (cotangents.size() == 2) pulled.push_back(arrays.probes[i]);
        deliver(arrays.weights[i], pulled);
      }
    };
  }

  void step(Optimizer& optimizer) const { optimizer.step(network_, loss_, targets_); }

 private:
  Differentiable network_;
  CrossEntropy loss_;
  Tensor targets_ = torch::zeros({1}, torch::kInt64);
};

// The sweeps of a preset's tenth step, without an optimizer around them.
class UpdateKernels {
 public:
  UpdateKernels(const Arrays& arrays, Preset which, double lr) {
    const Options options = update_options(which, lr);
    const StepCounts counts{.step = 10, .steps_covered = 10};
    coefficients_ = coefficients(
        {.recipe = options.recipe, .numbers = options.group, .counts = counts, .plan = plan_step(options.recipe, 10)});
    for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
      tensors_.push_back({.w = arrays.weights[i],
                          .g = arrays.gradients[i],
                          .s = arrays.probes[i],
                          .m = torch::zeros_like(arrays.weights[i]),
                          .v = torch::zeros_like(arrays.weights[i]),
                          .v_max = {}});
    }
  }

  void run() const {
    for (const auto& tensors : tensors_) ops::update(tensors, coefficients_);
  }

 private:
  kernels::UpdateCoefficients coefficients_;
  std::vector<ops::UpdateTensors> tensors_;
};

void set_gradients(const Arrays& arrays) {
  for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
    Tensor weight = arrays.weights[i];
    weight.mutable_grad() = arrays.gradients[i];
  }
}

std::unique_ptr<torch::optim::Optimizer> torch_adamw(const Arrays& arrays, double lr) {
  const GroupOptions group = preset(Preset::adamw).group;
  return std::make_unique<torch::optim::AdamW>(
      arrays.weights,
      torch::optim::AdamWOptions(lr).betas({group.beta1, group.beta2}).eps(group.eps).weight_decay(group.weight_decay));
}

// A step as torch defines it: the gradients are in .grad() and the closure returns the loss.
void step_by_gradients(torch::optim::Optimizer& optimizer) {
  static const Tensor loss = torch::zeros({});
  optimizer.step([] { return loss; });
}

// The same weights with a stride that the fused kernel does not support, so that the optimizer uses the plain version.
Arrays with_strided_weights(const Arrays& arrays) {
  Arrays copy = arrays;
  for (Tensor& weight : copy.weights) weight = torch::stack({weight, weight}, -1).select(-1, 0);
  return copy;
}

// The difference of our update and the plain version after three steps. No vector length divides the sizes.
double update_difference(Preset which) {
  constexpr double lr = 0.1;
  constexpr int steps = 3;
  const Arrays arrays = make_arrays({{100'003}, {257, 129}, {7}, {1}});
  Arrays plain = with_strided_weights(arrays);
  set_gradients(arrays);
  set_gradients(plain);
  Tensors before;
  for (const Tensor& weight : arrays.weights) before.push_back(weight.clone());
  Optimizer ours(arrays.weights, update_options(which, lr));
  const FreeNetwork network(arrays);
  const FreeNetwork plain_network(plain);
  std::unique_ptr<torch::optim::Optimizer> theirs;
  if (which == Preset::adamw) {
    theirs = torch_adamw(plain, lr);
  } else {
    theirs = std::make_unique<Optimizer>(plain.weights, update_options(which, lr));
  }
  for (int i = 0; i < steps; ++i) {
    if (which == Preset::adamw) {
      step_by_gradients(ours);
      step_by_gradients(*theirs);
    } else {
      network.step(ours);
      plain_network.step(dynamic_cast<Optimizer&>(*theirs));
    }
  }
  Tensors changes;
  Tensors plain_changes;
  for (std::size_t i = 0; i < before.size(); ++i) {
    changes.push_back(arrays.weights[i] - before[i]);
    plain_changes.push_back(plain.weights[i] - before[i]);
  }
  return largest_difference(changes, plain_changes);
}

std::string check_update_of(Session& session, Preset which) {
  constexpr double tolerance = 1e-5;  // float32: a few units in the last place in each of three steps
  return session.check(fmt::format("update/{}", name(which)), tolerance, [&] { return update_difference(which); });
}

}  // namespace

void check_update(Session& session) {
  for (const Preset which : updated_presets) check_update_of(session, which);
}

void measure_update(Session& session) {
  constexpr double lr = 1e-6;
  const int rounds = session.rounds(9);
  session.progress().show("124 million weights", 0);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const auto& parameter : model::gpt2_parameters({})) shapes.push_back(parameter.sizes);
  const Arrays arrays = make_arrays(shapes);
  set_gradients(arrays);
  const std::int64_t size = arrays.w.numel();
  const FreeNetwork network(arrays);
  {
    Tensor w = torch::zeros({size});
    Tensor m = torch::zeros({size});
    Tensor v = torch::zeros({size});
    double from = 0.1;
    for (const Preset which : updated_presets) {
      const std::string problem = check_update_of(session, which);
      Optimizer optimizer(arrays.weights, update_options(which, lr));
      const bool probes = which != Preset::adamw;
      Contest contest;
      const UpdateKernels update_kernels(arrays, which, lr);
      contest.add("sweep", [&] { update_kernels.run(); });
      contest.add("step", [&] {
        if (probes) {
          network.step(optimizer);
        } else {
          step_by_gradients(optimizer);
        }
      });
      contest.add("stream", [&] {
        stream_update(w.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), arrays.g.data_ptr<float>(),
                      probes ? arrays.s.data_ptr<float>() : nullptr, size);
      });
      const auto times =
          contest.run(rounds, session.round_progress(std::string(name(which)), rounds, from, from + 0.15));
      session.add({fmt::format("update/{}", name(which)), times.ratio({{"sweep"}}, {{"stream"}}), "x stream",
                   at_most(1.25), problem});
      session.add({fmt::format("update/{}-with-norms", name(which)),
                   times.ratio({{"step"}}, {{"stream"}}),
                   "x stream",
                   {},
                   problem});
      from += 0.15;
    }
  }
  const std::string problem = check_update_of(session, Preset::adamw);
  Optimizer ours(arrays.weights, update_options(Preset::adamw, lr));
  const auto theirs = torch_adamw(arrays, lr);
  Contest contest;
  contest.add("ours", [&] { step_by_gradients(ours); });
  contest.add("torch", [&] { step_by_gradients(*theirs); });
  const auto times = contest.run(rounds, session.round_progress("torch::optim::AdamW", rounds, 0.7, 1.0));
  session.add({"update/torch-adamw", times.ratio({{"torch"}}, {{"ours"}}), "x ours", at_least(4), problem});
  session.add({"update/adamw-seconds", times.median_of("ours"), "s"});
}

}  // namespace lehi::bench
