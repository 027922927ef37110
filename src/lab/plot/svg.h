// Writes a figure as SVG, for papers and web pages: text stays text, sizes are in pt, the background is white. The file
// has no scripts, no ids and no external references. The same figure always gives the same bytes.
#pragma once

#include <string>

#include "plot/figure.h"

namespace lehi::plot {

/// Throws std::invalid_argument for series and bands whose lists differ in length, axes whose ends are not in ascending
/// order or not finite, log axes with an end that is not positive, and sizes that are not positive.
std::string to_svg(const Figure& figure);

}  // namespace lehi::plot
