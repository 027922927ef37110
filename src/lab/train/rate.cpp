#include "train/rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/names.h"

namespace lehi::train {
namespace {

const NameTable<RateShape>& shapes() {
  static const NameTable<RateShape> table = {{RateShape::constant, "constant"},
                                             {RateShape::linear, "linear"},
                                             {RateShape::cosine, "cosine"},
                                             {RateShape::wsd, "wsd"}};
  return table;
}

// From 1 at x = 0 to 0 at x = 1.
double fall(const RateSchedule& schedule, double x) {
  switch (schedule.shape) {
    case RateShape::constant:
      return 1.0;
    case RateShape::linear:
      return 1.0 - x;
    case RateShape::cosine:
      return 0.5 * (1.0 + std::cos(std::numbers::pi * x));
    case RateShape::wsd:
      return std::min(1.0, (1.0 - x) / schedule.decay);
  }
  return 1.0;
}

}  // namespace

std::string_view name(RateShape shape) { return name_in(shapes(), shape); }
RateShape rate_shape_from_name(std::string_view name) { return value_in(shapes(), name, "rate schedule"); }

double rate_fraction(const RateSchedule& schedule, std::int64_t step, std::int64_t total) {
  if (step <= schedule.warmup) return static_cast<double>(step) / static_cast<double>(schedule.warmup + 1);
  const auto past = static_cast<double>(step - schedule.warmup - 1);
  const auto length = static_cast<double>(std::max<std::int64_t>(1, total - schedule.warmup));
  return schedule.floor + (1.0 - schedule.floor) * fall(schedule, std::min(1.0, past / length));
}

}  // namespace lehi::train
