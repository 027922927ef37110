// Learning-rate schedules: the rate of a step as a fraction of the configured rate.
#pragma once

#include <cstdint>
#include <string_view>

namespace lehi::train {

/// The shape of the rate after the warm-up:
///   constant   1
///   linear     falls linearly to the floor
///   cosine     falls to the floor as half a cosine
///   wsd        1, then falls linearly to the floor over the last `decay` of the run (warm-up, stable, decay)
enum class RateShape : std::uint8_t { constant, linear, cosine, wsd };

std::string_view name(RateShape shape);
RateShape rate_shape_from_name(std::string_view name);  ///< std::invalid_argument with the list of names

struct RateSchedule {
  RateShape shape = RateShape::constant;
  std::int64_t warmup = 0;  ///< steps; the fraction in step k of them is k / (warmup + 1)
  double decay = 0.2;       ///< wsd: in (0, 1], the fraction of the run in which the rate falls
  double floor = 0.0;       ///< in [0, 1]: the fraction of the rate after the last step
};

/// The fraction for step k = 1, 2, ..., total.
double rate_fraction(const RateSchedule& schedule, std::int64_t step, std::int64_t total);

}  // namespace lehi::train
