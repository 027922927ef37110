// Learning-rate schedules: the rate of a step as a fraction of the configured one.
#pragma once

#include <cstdint>
#include <string_view>

namespace lehi::train {

/// The course of the rate after the warm-up, with x going from 0 at its first step to 1 after the last one:
///   constant   1
///   linear     falls to the floor on a line
///   cosine     falls to the floor on half a cosine
///   wsd        1, then falls to the floor on a line over the last `decay` of the run (warm-up, stable, decay)
enum class RateShape : std::uint8_t { constant, linear, cosine, wsd };

std::string_view name(RateShape shape);
RateShape rate_shape_from_name(std::string_view name);  ///< std::invalid_argument listing the names

struct RateSchedule {
  RateShape shape = RateShape::constant;
  std::int64_t warmup = 0;  ///< steps; the rate of step k of them is k / (warmup + 1)
  double decay = 0.2;       ///< wsd: the part of the run, in (0, 1], that the fall takes
  double floor = 0.0;       ///< in [0, 1]: the fraction that is left after the last step
};

/// The fraction for step k = 1, 2, ..., total.
double rate_fraction(const RateSchedule& schedule, std::int64_t step, std::int64_t total);

}  // namespace lehi::train
