#include "plot/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lehi::plot {
namespace {

// Automatic axes ignore larger values, so that ticks and differences stay finite.
constexpr double largest_value = 1e300;

// The value, or its logarithm on a log axis; NaN if it cannot be drawn.
double to_linear(bool log, double value) {
  if (!std::isfinite(value) || (log && value <= 0.0)) return std::nan("");
  return log ? std::log10(value) : value;
}

double from_linear(bool log, double linear) { return log ? std::pow(10.0, linear) : linear; }

// The range of the data, in linear coordinates.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double linear) {
    low = std::min(low, linear);
    high = std::max(high, linear);
  }
};

Range choose_range(const Axis& axis, const Extent& data, double padding) {
  const bool any = data.low <= data.high;
  double low = any ? data.low : 0.0;
  double high = any ? data.high : 1.0;
  if (axis.low) low = to_linear(axis.log, *axis.low);
  if (axis.high) high = to_linear(axis.log, *axis.high);
  // One value only, two values too close for a tick between them, or all data beyond the end that is set.
  if (!(high - low > 1e-12 * std::max({std::abs(low), std::abs(high), 1e-280}))) {
    const double half = axis.log ? 0.5 : std::max(0.5 * std::abs(low), 0.5);
    if (axis.low) {
      high = low + 2 * half;
    } else if (axis.high) {
      low = high - 2 * half;
    } else {
      low -= half;
      high += half;
    }
  } else {
    const double margin = any ? padding * (high - low) : 0.0;
    if (!axis.low) low -= margin;
    if (!axis.high) high += margin;
  }
  return {axis.low.value_or(from_linear(axis.log, low)), axis.high.value_or(from_linear(axis.log, high))};
}

// Calls use(x, y) for every point that counts for the ends of the axes.
template <class Use>
void each_point(const Panel& panel, Use use) {
  for (const auto& band : panel.bands) {
    for (std::size_t i = 0; band.autoscale && i < band.x.size(); ++i) {
      use(band.x[i], band.low[i]);
      use(band.x[i], band.high[i]);
    }
  }
  for (const auto& series : panel.series) {
    for (std::size_t i = 0; series.autoscale && i < series.x.size(); ++i) use(series.x[i], series.y[i]);
  }
}

}  // namespace

double position(const Scale& scale, double value) {
  const double low = to_linear(scale.log, scale.values.low);
  const double high = to_linear(scale.log, scale.values.high);
  return scale.begin + (scale.end - scale.begin) * ((to_linear(scale.log, value) - low) / (high - low));
}

PanelRanges ranges_of(const Panel& panel) {
  Extent x;
  Extent y;
  each_point(panel, [&](double at, double value) {
    const auto too_large_or_small = [](double number) {
      return std::abs(number) > largest_value || (number != 0.0 && std::abs(number) < 1 / largest_value);
    };
    const double linear_x = to_linear(panel.x.log, at);
    const double linear_y = to_linear(panel.y.log, value);
    if (std::isnan(linear_x) || std::isnan(linear_y) || too_large_or_small(at) || too_large_or_small(value)) return;
    x.add(linear_x);
    const bool outside = (panel.x.low && at < *panel.x.low) || (panel.x.high && at > *panel.x.high);
    if (!outside) y.add(linear_y);
  });
  return {choose_range(panel.x, x, 0.03), choose_range(panel.y, y, 0.05)};
}

}  // namespace lehi::plot
