// Numbers in JSON: null stands for values that are not finite, which JSON can't represent.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "study/statistics.h"

namespace lehi::study {

inline nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

/// NaN when the object has no number of that name.
inline double number_or_nan(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : kNan;
}

}  // namespace lehi::study
