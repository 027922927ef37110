// The figure of `lehi trace --svg`: contours of a problem with two weights and the paths of optimizers.
#pragma once

#include <vector>

#include "cli/trace_path.h"
#include "plot/figure.h"
#include "plot/scale.h"

namespace lehi::cli {

/// The part of the plane that the figure shows. It contains start and optimum, and the paths as far as they stay near
/// these; paths that diverge are ignored.
plot::PanelRanges trace_window(const Problem& problem, const std::vector<TracePath>& paths);

/// `paths` must not be empty; all begin at the same point of a problem with two weights.
plot::Figure trace_figure(const Problem& problem, const std::vector<TracePath>& paths);

}  // namespace lehi::cli
