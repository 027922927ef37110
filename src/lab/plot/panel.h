// One panel: its ticks, the room that its labels take, its drawing.
#pragma once

#include <string>

#include "plot/figure.h"
#include "plot/geometry.h"
#include "plot/scale.h"
#include "plot/ticks.h"

namespace lehi::plot {

/// A panel whose axes are worked out; its place on the page is still open.
struct PreparedPanel {
  Panel panel;
  PanelRanges ranges;
  Ticks x;
  Ticks y;
};

/// Ticks as many as a frame of this size, in pt, has room for.
PreparedPanel prepare_panel(const Panel& panel, double width, double height);

/// What lies outside the frame, in pt.
struct Margins {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};
Margins margins_of(const PreparedPanel& prepared);

std::string draw_panel(const PreparedPanel& prepared, const Box& frame);

}  // namespace lehi::plot
