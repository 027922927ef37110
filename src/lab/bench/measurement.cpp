#include "bench/measurement.h"

#include <fmt/format.h>

#include <cmath>

namespace lehi::bench {

bool is_ok(const Measurement& figure) {
  if (!figure.problem.empty() || !std::isfinite(figure.value)) return false;
  if (!figure.bound) return true;
  return figure.bound->side == Bound::Side::at_most ? figure.value <= figure.bound->limit
                                                    : figure.value >= figure.bound->limit;
}

std::string bound_text(const std::optional<Bound>& bound) {
  if (!bound) return "";
  return fmt::format("{} {:g}", bound->side == Bound::Side::at_most ? "<=" : ">=", bound->limit);
}

std::string topic_of(const std::string& name) { return name.substr(0, name.find('/')); }

nlohmann::ordered_json figures_json(const std::vector<Measurement>& figures) {
  auto list = nlohmann::ordered_json::array();
  for (const Measurement& figure : figures) {
    nlohmann::ordered_json bound;
    if (figure.bound) bound = figure.bound->limit;
    list.push_back({{"name", figure.name},
                    {"value", figure.value},
                    {"unit", figure.unit},
                    {"bound", bound},
                    {"ok", is_ok(figure)}});
  }
  return list;
}

}  // namespace lehi::bench
