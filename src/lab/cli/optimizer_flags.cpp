#include "cli/optimizer_flags.h"

#include "cli/arguments.h"

namespace lehi::cli {

void add_optimizer_flags(CLI::App& app, OptimizerFlags& flags) {
  const auto add = [&app](const char* flag, const char* placeholder, auto& value, const char* text) {
    return app.add_option(flag, value, text)->type_name(placeholder)->group(optimizer_group);
  };
  const auto number = [&add](const char* flag, const char* placeholder, std::optional<double>& value,
                             const char* text) { add(flag, placeholder, value, text)->check(finite()); };
  add("--optimizer", "NAME", flags.optimizer, "an optimizer from `lehi list optimizers`")->capture_default_str();
  number("--lr", "RATE", flags.lr, "learning rate");
  number("--beta1", "B1", flags.beta1, "decay rate of the momentum m");
  number("--beta2", "B2", flags.beta2, "decay rate of the accumulated curvature v");
  number("--eps", "EPS", flags.eps, "smallest scale that a step is divided by");
  number("--weight-decay", "W", flags.weight_decay,
         "weight decay, decoupled or coupled as in the optimizer of that name");
  number("--momentum", "M", flags.momentum, "sgd, rmsprop: momentum");
  app.add_flag("--nesterov", flags.nesterov, "sgd: Nesterov momentum")->group(optimizer_group);
  number("--rho", "RHO", flags.rho, "sophia-g: clipping constant");
  number("--clip-norm", "X", flags.clip_norm, "clip the gradient to this global 2-norm");
  add("--probe", "PROBE", flags.probe, "a probe from `lehi list probes`");
  add("--scale", "SCALE", flags.scale, "scale of the probe: sqrt-n or mean");
  add("--mix", "MIX", flags.mix,
      "what v accumulates: none (the probe only), the sum or max of squared probe and gradient, or gradient");
  add("--refresh-every", "N", flags.refresh_every, "steps between two probes");
  add("--dense", "N", flags.dense, "number of first steps that all use a probe");
  add("--seed", "N", flags.seed, "seed of the random probes")->capture_default_str();
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

}  // namespace lehi::cli
