// `lehi trace --svg`: the contours of a problem of two weights, and the paths of optimizers across them.
#pragma once

#include <vector>

#include "cli/trace_path.h"
#include "plot/figure.h"
#include "plot/scale.h"

namespace lehi::cli {

/// The part of the plane that the figure shows: start, optimum and the paths, but a path that diverges or strays far
/// from the first two does not shrink the rest.
plot::PanelRanges trace_window(const Problem& problem, const std::vector<TracePath>& paths);

/// `paths` (one at least) are of a problem of two weights and begin at the same point.
plot::Figure trace_figure(const Problem& problem, const std::vector<TracePath>& paths);

}  // namespace lehi::cli
