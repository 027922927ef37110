#include "plot/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lehi::plot {
namespace {

// No axis goes further by itself: ticks and differences must stay numbers.
constexpr double furthest = 1e300;

// On the axis's own ruler: the logarithm, or the value itself. NaN where it has none.
double on_ruler(bool log, double value) {
  if (!std::isfinite(value) || (log && value <= 0.0)) return std::nan("");
  return log ? std::log10(value) : value;
}

double off_ruler(bool log, double position) { return log ? std::pow(10.0, position) : position; }

// The span of what was seen, on the ruler.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double position) {
    low = std::min(low, position);
    high = std::max(high, position);
  }
};

Range choose_range(const Axis& axis, const Extent& seen, double room) {
  const bool any = seen.low <= seen.high;
  double low = any ? seen.low : 0.0;
  double high = any ? seen.high : 1.0;
  if (axis.low) low = on_ruler(axis.log, *axis.low);
  if (axis.high) high = on_ruler(axis.log, *axis.high);
  // One value only, two too near for a tick between them, or everything lies beyond the end that was given.
  if (!(high - low > 1e-12 * std::max({std::abs(low), std::abs(high), 1e-280}))) {
    const double half = axis.log ? 0.5 : std::max(0.5 * std::abs(low), 0.5);
    if (axis.low)
      high = low + 2 * half;
    else if (axis.high)
      low = high - 2 * half;
    else {
      low -= half;
      high += half;
    }
  } else {
    const double space = any ? room * (high - low) : 0.0;
    if (!axis.low) low -= space;
    if (!axis.high) high += space;
  }
  return {axis.low.value_or(off_ruler(axis.log, low)), axis.high.value_or(off_ruler(axis.log, high))};
}

// Calls use(x, y) for every point that counts.
template <class Use>
void each_point(const Panel& panel, Use use) {
  for (const auto& band : panel.bands) {
    for (std::size_t i = 0; band.fits && i < band.x.size(); ++i) {
      use(band.x[i], band.low[i]);
      use(band.x[i], band.high[i]);
    }
  }
  for (const auto& series : panel.series) {
    for (std::size_t i = 0; series.fits && i < series.x.size(); ++i) use(series.x[i], series.y[i]);
  }
}

}  // namespace

double place(const Scale& scale, double value) {
  const double low = on_ruler(scale.log, scale.values.low);
  const double high = on_ruler(scale.log, scale.values.high);
  return scale.begin + (scale.end - scale.begin) * ((on_ruler(scale.log, value) - low) / (high - low));
}

PanelRanges ranges_of(const Panel& panel) {
  Extent x;
  Extent y;
  each_point(panel, [&](double at, double value) {
    const auto far = [](double number) {
      return std::abs(number) > furthest || (number != 0.0 && std::abs(number) < 1 / furthest);
    };
    const double x_place = on_ruler(panel.x.log, at);
    const double y_place = on_ruler(panel.y.log, value);
    if (std::isnan(x_place) || std::isnan(y_place) || far(at) || far(value)) return;
    x.add(x_place);
    const bool outside = (panel.x.low && at < *panel.x.low) || (panel.x.high && at > *panel.x.high);
    if (!outside) y.add(y_place);
  });
  return {choose_range(panel.x, x, 0.03), choose_range(panel.y, y, 0.05)};
}

}  // namespace lehi::plot
