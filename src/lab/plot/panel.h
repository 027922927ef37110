// Draws one panel: ticks, labels, contents.
#pragma once

#include <string>

#include "plot/figure.h"
#include "plot/geometry.h"
#include "plot/scale.h"
#include "plot/ticks.h"

namespace lehi::plot {

/// A panel with computed axes, not yet placed on the page.
struct PreparedPanel {
  Panel panel;
  PanelRanges ranges;
  Ticks x;
  Ticks y;
};

/// Chooses as many ticks as fit a frame of this size, in pt.
PreparedPanel prepare_panel(const Panel& panel, double width, double height);

/// The space for labels around the frame, in pt.
struct Margins {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};
Margins margins_of(const PreparedPanel& prepared);

std::string draw_panel(const PreparedPanel& prepared, const Box& frame);

}  // namespace lehi::plot
