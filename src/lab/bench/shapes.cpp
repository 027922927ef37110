// The topic "shapes": times of whole steps of the optimizers that take matrices as a whole, relative to AdamW steps of
// the same model, at batches large enough for them: GPT-2 small with 64 x 128 tokens, ResNet-18 with 256 images. And
// the memory of their state.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bench/contest.h"
#include "bench/session.h"
#include "bench/workload.h"

namespace lehi::bench {
namespace {

struct ShapeArm {
  std::string name;
  Options options;
  double limit = 0.0;  // x adamw; 0: no bound
};

// One of `every` steps refreshes; the measured optimizer alternates between a step that refreshes and one that does
// not.
ShapeArm kron_arm(const std::string& name, Sides sides, double limit) {
  Options options = frozen_options(Preset::lehi_kron);
  options.recipe.kronecker.sides = sides;
  return {name, options, limit};
}

double bytes_of_state(const Optimizer& optimizer, const model::Network& network) {
  double bytes = 0.0;
  for (const auto& parameter : network.named_parameters()) {
    const ParameterState* state = optimizer.find_state(parameter.value());
    if (state == nullptr) continue;
    for (const torch::Tensor& tensor :
         {state->m, state->v, state->left, state->right, state->left_basis, state->right_basis}) {
      if (tensor.defined()) bytes += static_cast<double>(tensor.nbytes());
    }
  }
  return bytes;
}

void measure_arms(Session& session, const Workload& workload, const std::string& title, std::vector<ShapeArm> arms,
                  double from, double to) {
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  std::vector<Times::Sum> sums;
  Contest contest;
  const auto add = [&](const std::string& name, Options options) {
    Schedule& schedule = options.recipe.schedule;
    const auto every = static_cast<double>(schedule.every);
    const bool refreshes = every > 1;
    schedule = {.every = refreshes ? 2 : 1};
    auto& optimizer =
        *optimizers.emplace_back(std::make_unique<Optimizer>(workload.network->named_parameters(), options));
    const std::string refreshing = name + ", refreshing";
    const std::string between = name + ", between";
    const auto turn = [&optimizer, &workload, refreshes] {
      std::vector<double> seconds(refreshes ? 2 : 1);
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        const double one = seconds_of([&] { workload.step(optimizer); });
        seconds[!refreshes || optimizer.report().second_pull_back ? 0 : 1] = one;
      }
      return seconds;
    };
    // The whole batch from the first step on: the sides are chosen by its size.
    const auto warm_up = [&optimizer, &workload, refreshes] {
      for (int i = 0; i < (refreshes ? 2 : 1); ++i) workload.step(optimizer);
    };
    if (refreshes) {
      contest.add_timed({refreshing, between}, turn, warm_up);
      sums.push_back({{refreshing, 1 / every}, {between, (every - 1) / every}});
    } else {
      contest.add_timed({name}, turn, warm_up);
      sums.push_back({{name}});
    }
  };
  add("adamw", frozen_options(Preset::adamw));
  for (const ShapeArm& arm : arms) add(arm.name, arm.options);
  const int rounds = session.rounds(3);
  const auto times = contest.run(rounds, session.round_progress(title, rounds, from, to));
  const std::string prefix = "shapes/" + workload.name + "/";
  session.add({prefix + "adamw-seconds", times.median_of("adamw"), "s"});
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string& name = arms[i].name;
    const auto bound = arms[i].limit > 0.0 ? std::optional(at_most(arms[i].limit)) : std::nullopt;
    session.add({prefix + name, times.ratio(sums[i + 1], sums[0]), "x adamw", bound});
    if (sums[i + 1].size() == 2) {
      session.add({prefix + name + "-refreshing", times.ratio({{name + ", refreshing"}}, sums[0]), "x adamw"});
      session.add({prefix + name + "-between", times.ratio({{name + ", between"}}, sums[0]), "x adamw"});
    }
    session.add(
        {prefix + name + "-state",
         bytes_of_state(*optimizers[i + 1], *workload.network) / bytes_of_state(*optimizers[0], *workload.network),
         "x adamw's bytes"});
  }
}

}  // namespace

void measure_shapes(Session& session) {
  const ShapeArm muon{"muon", frozen_options(Preset::muon), 0.0};
  {
    const Workload resnet = resnet_workload(256);
    measure_arms(session, resnet, "ResNet-18, batch 256", {kron_arm("lehi-kron", Sides::automatic, 1.15), muon}, 0.0,
                 0.15);
  }
  const Workload gpt2 = gpt2_workload({}, 64, 128, /*recompute=*/false);
  measure_arms(
      session, gpt2, "GPT-2 small, 64 x 128 tokens",
      {kron_arm("lehi-kron-both", Sides::both, 1.25), kron_arm("lehi-kron-smaller", Sides::smaller, 1.12), muon}, 0.15,
      1.0);
}

}  // namespace lehi::bench
