// What `lehi bench` finds: figures with a bound or without, and those that could not be taken. Nothing here measures.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lehi::bench {

struct Bound {
  enum class Side : std::uint8_t { at_most, at_least };
  Side side = Side::at_most;
  double limit = 0.0;
};

constexpr Bound at_most(double limit) { return {Bound::Side::at_most, limit}; }
constexpr Bound at_least(double limit) { return {Bound::Side::at_least, limit}; }

struct Measurement {
  std::string name;  ///< topic first: "update/adamw"
  double value = 0.0;
  std::string unit;  ///< "x" for ratios
  std::optional<Bound> bound = {};
  std::string problem = {};  ///< one sentence where a check before the measurement failed; the figure is then not ok
};

/// A figure that has a bound or none, and was not taken.
struct Unmeasured {
  std::string name;
  std::string reason;  ///< one sentence
  bool bounded = true;
};

/// The value is finite, its bound is kept, and nothing was wrong with what was measured.
bool is_ok(const Measurement& figure);

/// "<= 1.25", ">= 4", or "".
std::string bound_text(const std::optional<Bound>& bound);

/// What comes before the first slash.
std::string topic_of(const std::string& name);

/// A list of {name, value, unit, bound, ok}; a value that is not finite is null, and so is a bound that does not exist.
nlohmann::ordered_json figures_json(const std::vector<Measurement>& figures);

}  // namespace lehi::bench
