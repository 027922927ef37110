// Recipes and their numbers as they cross the operators: a string and a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lehi/recipe.h"

namespace lehi::python {

/// The inverse of to_string(Recipe); a part that the text lacks takes its default. Throws std::invalid_argument for
/// unknown parts and values, and for a recipe that does not pass check().
Recipe recipe_from(std::string_view text);

/// lr, beta1, beta2, eps, weight_decay, momentum, dampening, nesterov (0 or 1), momentum_decay, rho, beta3, checked.
Hyperparameters numbers_from(const std::vector<double>& list, Rule rule);

/// {"adamw": {"summary": "...", "recipe": "...", "numbers": {"lr": 0.001, ...}}, ...}
std::string presets_as_json();

}  // namespace lehi::python
