// An optimizer's parts and numbers, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lehi/options.h"

namespace lehi::cli {

/// "every step", "every step, alternating with gradient", "every 10 steps after 200 dense ones".
std::string describe_schedule(const Schedule& schedule);

/// Probe, schedule, accumulator, mix, rule and scale.
nlohmann::ordered_json recipe_json(const Recipe& recipe);

/// lr, beta1, beta2, eps, ...
nlohmann::ordered_json numbers_json(const GroupOptions& options);

}  // namespace lehi::cli
