// Maps values to positions on the page, and computes the ends of axes that are not set.
#pragma once

#include "plot/figure.h"

namespace lehi::plot {

struct Range {
  double low = 0.0;
  double high = 1.0;
};

/// An axis on the page: its low end is at `begin`, its high end at `end`, in pt.
struct Scale {
  Range values;
  bool log = false;
  double begin = 0.0;
  double end = 1.0;
};

/// The position of a value on the page; NaN if it is not finite, or not positive on a log axis.
double position(const Scale& scale, double value);

/// The ends of the panel's axes: those that are set; the others from the points with some padding. Points outside the
/// set ends of x do not count for y.
struct PanelRanges {
  Range x;
  Range y;
};
PanelRanges ranges_of(const Panel& panel);

}  // namespace lehi::plot
