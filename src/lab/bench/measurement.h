// The results of `lehi bench`: measurements, their bounds, and measurements that could not be made.
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
  std::string name;  ///< begins with the topic: "update/adamw"
  double value = 0.0;
  std::string unit;  ///< "x" for ratios
  std::optional<Bound> bound = {};
  std::string problem = {};  ///< one sentence if the check before the measurement failed; it is then not ok
};

/// A measurement that could not be made.
struct Unmeasured {
  std::string name;
  std::string reason;   ///< one sentence
  bool bounded = true;  ///< it has a bound
};

/// True if the value is finite and within its bound, and the check before the measurement passed.
bool is_ok(const Measurement& measurement);

/// "<= 1.25", ">= 4", or "".
std::string bound_text(const std::optional<Bound>& bound);

/// The part before the first slash.
std::string topic_of(const std::string& name);

/// A list of {name, value, unit, bound, ok}. A value that is not finite and a missing bound are null.
nlohmann::ordered_json measurements_json(const std::vector<Measurement>& measurements);

}  // namespace lehi::bench
