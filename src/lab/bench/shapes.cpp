// The topic "shapes": times of whole steps of the optimizers that take matrices as a whole, relative to AdamW steps of
// the same model, at batches large enough for them: GPT-2 small with 64 x 128 tokens, ResNet-18 with 256 images. And
// the memory of their state.
#include <memory>
#include <string>
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

// The measured optimizer makes new bases at every other step.
void alternate_bases(Recipe& recipe) {
  recipe.schedule.doubling = false;
  recipe.kronecker.basis_every = 2;
}

std::string with_bases(const std::string& name) { return name + ", new bases"; }
std::string between_bases(const std::string& name) { return name + ", between"; }

// The mean step with the recipe's own spacing of bases.
Times::Sum mean_step(const std::string& name, const Recipe& recipe) {
  const double part = 1.0 / static_cast<double>(recipe.kronecker.basis_every);
  return {{with_bases(name), part}, {between_bases(name), 1.0 - part}};
}

// The optimizers that are measured, and what their mean steps are made of.
struct Field {
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  std::vector<Times::Sum> sums;
  Contest contest;
};

void enter(Field& field, const Workload& workload, const std::string& name, Options options) {
  const bool kronecker = options.recipe.shape == Shape::kronecker;
  field.sums.push_back(kronecker ? mean_step(name, options.recipe) : Times::Sum{{name}});
  if (kronecker) alternate_bases(options.recipe);
  auto& optimizer = *field.optimizers.emplace_back(std::make_unique<Optimizer>(
      workload.network->named_parameters(), model::options_for(*workload.network, options)));
  const auto step = [&optimizer, &workload] { workload.step(optimizer); };
  if (!kronecker) return field.contest.add(name, step);
  field.contest.add_timed({with_bases(name), between_bases(name)}, [step] {
    return std::vector<double>{seconds_of(step), seconds_of(step)};
  });
}

void measure_arms(Session& session, const Workload& workload, const std::string& title,
                  const std::vector<ShapeArm>& arms, double from, double to) {
  Field field;
  enter(field, workload, "adamw", frozen_options(Preset::adamw));
  for (const ShapeArm& arm : arms) enter(field, workload, arm.name, arm.options);
  const int rounds = session.rounds(2);
  const auto times = field.contest.run(rounds, session.round_progress(title, rounds, from, to));
  const std::string prefix = "shapes/" + workload.name + "/";
  session.add({prefix + "adamw-seconds", times.median_of("adamw"), "s"});
  const double adamw_bytes = bytes_of_state(*field.optimizers[0], *workload.network);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string& name = arms[i].name;
    const auto& sum = field.sums[i + 1];
    const auto bound = arms[i].limit > 0.0 ? std::optional(at_most(arms[i].limit)) : std::nullopt;
    session.add({prefix + name, times.ratio(sum, field.sums[0]), "x adamw", bound});
    if (sum.size() > 1) {
      session.add({prefix + name + "-new-bases", times.ratio({{with_bases(name)}}, field.sums[0]), "x adamw"});
      session.add({prefix + name + "-between", times.ratio({{between_bases(name)}}, field.sums[0]), "x adamw"});
    }
    const double bytes = bytes_of_state(*field.optimizers[i + 1], *workload.network);
    session.add({prefix + name + "-state", bytes / adamw_bytes, "x adamw's bytes"});
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
