#include "bench/measurement.h"

#include <fmt/format.h>

#include <cmath>

namespace lehi::bench {

bool is_ok(const Measurement& measurement) {
  if (!measurement.problem.empty() || !std::isfinite(measurement.value)) return false;
  if (!measurement.bound) return true;
  return measurement.bound->side == Bound::Side::at_most ? measurement.value <= measurement.bound->limit
                                                         : measurement.value >= measurement.bound->limit;
}

std::string bound_text(const std::optional<Bound>& bound) {
  if (!bound) return "";
  return fmt::format("{} {:g}", bound->side == Bound::Side::at_most ? "<=" : ">=", bound->limit);
}

std::string topic_of(const std::string& name) { return name.substr(0, name.find('/')); }

nlohmann::ordered_json measurements_json(const std::vector<Measurement>& measurements) {
  auto list = nlohmann::ordered_json::array();
  for (const Measurement& measurement : measurements) {
    nlohmann::ordered_json bound;
    if (measurement.bound) bound = measurement.bound->limit;
    list.push_back({{"name", measurement.name},
                    {"value", measurement.value},
                    {"unit", measurement.unit},
                    {"bound", bound},
                    {"ok", is_ok(measurement)}});
  }
  return list;
}

}  // namespace lehi::bench
