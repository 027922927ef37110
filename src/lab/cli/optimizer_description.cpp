#include "cli/optimizer_description.h"

#include <fmt/format.h>

namespace lehi::cli {

std::string describe_schedule(const Schedule& schedule) {
  if (schedule.doubling && schedule.every > 1) return fmt::format("steps 1, 2, 4, ..., then every {}", schedule.every);
  auto text = schedule.every == 1 ? std::string("every step") : fmt::format("every {} steps", schedule.every);
  if (schedule.dense > 0) text += fmt::format(" after {} dense ones", schedule.dense);
  if (schedule.alternate) text += ", alternating with gradient";
  return text;
}

nlohmann::ordered_json recipe_json(const Recipe& recipe) {
  nlohmann::ordered_json document = {
      {"probe", name(recipe.probe)},
      {"schedule",
       {{"every", recipe.schedule.every},
        {"dense", recipe.schedule.dense},
        {"alternate", recipe.schedule.alternate},
        {"doubling", recipe.schedule.doubling}}},
      {"accumulator", name(recipe.accumulator)},
      {"mix", name(recipe.mix)},
      {"rule", name(recipe.rule)},
      {"decay", name(recipe.decay)},
      {"scale", name(recipe.scale)},
      {"shape", name(recipe.shape)},
  };
  if (recipe.shape == Shape::kronecker) {
    const Kronecker& kronecker = recipe.kronecker;
    document["kronecker"] = {{"factors", name(kronecker.factors)},
                             {"sides", name(kronecker.sides)},
                             {"cost", kronecker.cost},
                             {"square_blocks", kronecker.square_blocks},
                             {"basis_every", kronecker.basis_every},
                             {"step_factor", kronecker.step_factor}};
  }
  return document;
}

nlohmann::ordered_json numbers_json(const GroupOptions& options) {
  return {
      {"lr", options.lr},
      {"beta1", options.beta1},
      {"beta2", options.beta2},
      {"beta3", options.beta3},
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
