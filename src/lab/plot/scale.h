// From values to places on the page, and the ends of an axis that has none given.
#pragma once

#include "plot/figure.h"

namespace lehi::plot {

struct Range {
  double low = 0.0;
  double high = 1.0;
};

/// An axis on the page: `values` from its low end at `begin` to its high end at `end`, in pt.
struct Scale {
  Range values;
  bool log = false;
  double begin = 0.0;
  double end = 1.0;
};

/// NaN for what has no place: not finite, or not positive on a log axis.
double place(const Scale& scale, double value);

/// The ends of the panel's axes: those given, others from the points that will be drawn, with a little room. The y axis
/// looks only at points between the ends of x that are given.
struct PanelRanges {
  Range x;
  Range y;
};
PanelRanges ranges_of(const Panel& panel);

}  // namespace lehi::plot
