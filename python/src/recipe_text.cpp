#include "recipe_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "runtime/message.h"

namespace lehi::python {
namespace {

template <class Number>
Number number_from(std::string_view key, std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_invalid_argument("the recipe's {} is '{}', but must be a number", key, text);
  }
  return value;
}

bool yes_or_no(std::string_view key, std::string_view text) {
  if (text != "yes" && text != "no")
    throw_invalid_argument("the recipe's {} is '{}', but must be yes or no", key, text);
  return text == "yes";
}

void set_part(Recipe& recipe, std::string_view key, std::string_view value) {
  Schedule& schedule = recipe.schedule;
  Kronecker& kronecker = recipe.kronecker;
  if (key == "probe") {
    recipe.probe = probe_from_name(value);
  } else if (key == "every") {
    schedule.every = number_from<std::int64_t>(key, value);
  } else if (key == "dense") {
    schedule.dense = number_from<std::int64_t>(key, value);
  } else if (key == "alternate") {
    schedule.alternate = yes_or_no(key, value);
  } else if (key == "doubling") {
    schedule.doubling = yes_or_no(key, value);
  } else if (key == "accumulator") {
    recipe.accumulator = accumulator_from_name(value);
  } else if (key == "mix") {
    recipe.mix = mix_from_name(value);
  } else if (key == "rule") {
    recipe.rule = rule_from_name(value);
  } else if (key == "decay") {
    recipe.decay = decay_from_name(value);
  } else if (key == "scale") {
    recipe.scale = scale_from_name(value);
  } else if (key == "shape") {
    recipe.shape = shape_from_name(value);
  } else if (key == "factors") {
    kronecker.factors = factors_from_name(value);
  } else if (key == "sides") {
    kronecker.sides = sides_from_name(value);
  } else if (key == "cost") {
    kronecker.cost = number_from<double>(key, value);
  } else if (key == "square-blocks") {
    kronecker.square_blocks = yes_or_no(key, value);
  } else if (key == "basis-every") {
    kronecker.basis_every = number_from<std::int64_t>(key, value);
  } else if (key == "step-factor") {
    kronecker.step_factor = number_from<double>(key, value);
  } else {
    throw_invalid_argument("a recipe has no part '{}'; the parts are those of: {}", key, to_string(Recipe{}));
  }
}

constexpr std::size_t nesterov_at = 7;
constexpr std::array<std::string_view, 11> number_names = {
    "lr",        "beta1",    "beta2",          "eps", "weight_decay", "momentum",
    "dampening", "nesterov", "momentum_decay", "rho", "beta3"};

std::array<double, number_names.size()> list_of(const Hyperparameters& n) {
  return {
      n.lr,  n.beta1, n.beta2, n.eps, n.weight_decay, n.momentum, n.dampening, n.nesterov ? 1.0 : 0.0, n.momentum_decay,
      n.rho, n.beta3};
}

}  // namespace

Recipe recipe_from(std::string_view text) {
  Recipe recipe;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      throw_invalid_argument("'{}' in a recipe is not of the form part=value", word);
    set_part(recipe, word.substr(0, equals), word.substr(equals + 1));
  }
  check(recipe);
  return recipe;
}

Hyperparameters numbers_from(const std::vector<double>& list, Rule rule) {
  if (list.size() != number_names.size()) {
    throw_invalid_argument("there are {} numbers; expected {}: {}", list.size(), number_names.size(),
                           fmt::join(number_names, ", "));
  }
  Hyperparameters numbers{.lr = list[0],
                          .beta1 = list[1],
                          .beta2 = list[2],
                          .eps = list[3],
                          .weight_decay = list[4],
                          .momentum = list[5],
                          .dampening = list[6],
                          .nesterov = list[nesterov_at] != 0.0,
                          .momentum_decay = list[8],
                          .rho = list[9],
                          .beta3 = list[10]};
  check(numbers, rule);
  return numbers;
}

std::string presets_as_json() {
  std::vector<std::string> presets;
  for (const Preset preset : all_presets()) {
    std::vector<std::string> numbers;
    const auto values = list_of(hyperparameters_of(preset));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string value = i == nesterov_at ? (values[i] != 0.0 ? "true" : "false") : fmt::format("{}", values[i]);
      numbers.push_back(fmt::format(R"("{}": {})", number_names[i], value));
    }
    presets.push_back(fmt::format(R"("{}": {{"summary": "{}", "recipe": "{}", "numbers": {{{}}}}})", name(preset),
                                  summary(preset), to_string(recipe_of(preset)), fmt::join(numbers, ", ")));
  }
  return fmt::format("{{{}}}", fmt::join(presets, ",\n "));
}

}  // namespace lehi::python
