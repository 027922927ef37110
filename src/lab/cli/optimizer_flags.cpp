#include "cli/optimizer_flags.h"

#include <fmt/format.h>

#include "cli/arguments.h"

namespace lehi::cli {

void add_optimizer_flags(CLI::App& app, OptimizerFlags& flags) {
  const auto number = [&app](const char* name, std::optional<double>& value, const char* text) {
    app.add_option(name, value, text)->check(finite())->group("Optimizer");
  };
  app.add_option("--optimizer", flags.optimizer, "a name of `lehi list optimizers`")
      ->capture_default_str()
      ->group("Optimizer");
  number("--lr", flags.lr, "learning rate");
  number("--beta1", flags.beta1, "decay of the momentum m");
  number("--beta2", flags.beta2, "decay of the kept curvature v");
  number("--eps", flags.eps, "smallest scale that the step divides by");
  number("--weight-decay", flags.weight_decay, "decoupled weight decay");
  number("--momentum", flags.momentum, "momentum of sgd and rmsprop");
  app.add_flag("--nesterov", flags.nesterov, "Nesterov's momentum (sgd)")->group("Optimizer");
  number("--rho", flags.rho, "clipping constant of sophia-g");
  number("--clip-norm", flags.clip_norm, "largest 2-norm of the gradient");
  app.add_option("--probe", flags.probe, "another probe than the optimizer's own")->group("Optimizer");
  app.add_option("--scale", flags.scale, "sqrt-n or mean")->group("Optimizer");
  app.add_option("--mix", flags.mix, "none, sum or max of probe and gradient")->group("Optimizer");
  app.add_option("--refresh-every", flags.refresh_every, "steps between two probes")->group("Optimizer");
  app.add_option("--dense", flags.dense, "first steps that all have a probe")->group("Optimizer");
  app.add_option("--seed", flags.seed, "of the random probes")->capture_default_str()->group("Optimizer");
}

Options resolve(const OptimizerFlags& flags) {
  auto options = preset(flags.optimizer);
  auto& group = options.group;
  auto& recipe = options.recipe;
  group.lr = flags.lr.value_or(group.lr);
  group.beta1 = flags.beta1.value_or(group.beta1);
  group.beta2 = flags.beta2.value_or(group.beta2);
  group.eps = flags.eps.value_or(group.eps);
  group.weight_decay = flags.weight_decay.value_or(group.weight_decay);
  group.momentum = flags.momentum.value_or(group.momentum);
  group.rho = flags.rho.value_or(group.rho);
  group.nesterov = flags.nesterov || group.nesterov;
  recipe.schedule.every = flags.refresh_every.value_or(recipe.schedule.every);
  recipe.schedule.dense = flags.dense.value_or(recipe.schedule.dense);
  if (flags.probe) recipe.probe = probe_from_name(*flags.probe);
  if (flags.scale) recipe.scale = scale_from_name(*flags.scale);
  if (flags.mix) recipe.mix = mix_from_name(*flags.mix);
  if (flags.clip_norm) options.clip_norm = flags.clip_norm;
  options.seed = flags.seed;
  check(options);
  return options;
}

std::string describe_schedule(const Schedule& schedule) {
  auto text = schedule.every == 1 ? std::string("every step") : fmt::format("every {} steps", schedule.every);
  if (schedule.dense > 0) text += fmt::format(" after {} dense ones", schedule.dense);
  if (schedule.alternate) text += ", alternating with gradient";
  return text;
}

nlohmann::ordered_json recipe_json(const Recipe& recipe) {
  return {
      {"probe", name(recipe.probe)},
      {"schedule",
       {{"every", recipe.schedule.every}, {"dense", recipe.schedule.dense}, {"alternate", recipe.schedule.alternate}}},
      {"accumulator", name(recipe.accumulator)},
      {"mix", name(recipe.mix)},
      {"rule", name(recipe.rule)},
      {"scale", name(recipe.scale)},
  };
}

nlohmann::ordered_json numbers_json(const GroupOptions& options) {
  return {
      {"lr", options.lr},
      {"beta1", options.beta1},
      {"beta2", options.beta2},
      {"eps", options.eps},
      {"weight_decay", options.weight_decay},
      {"momentum", options.momentum},
      {"dampening", options.dampening},
      {"nesterov", options.nesterov},
      {"momentum_decay", options.momentum_decay},
      {"rho", options.rho},
  };
}

}  // namespace lehi::cli
