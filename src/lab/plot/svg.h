// A figure as SVG, for a paper or a page: text stays text, sizes are in pt, the background is white; no scripts, no
// ids, nothing that is fetched. The same figure always gives the same bytes.
#pragma once

#include <string>

#include "plot/figure.h"

namespace lehi::plot {

/// Throws std::invalid_argument for a series whose x and y differ in length, for an axis whose ends are not in order,
/// and for a log axis with an end that is not positive.
std::string to_svg(const Figure& figure);

}  // namespace lehi::plot
