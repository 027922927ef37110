// Text for SVG: escaping, short numbers, and the approximate width of a line.
#pragma once

#include <string>
#include <string_view>

namespace lehi::plot {

/// Escapes text for XML content and attributes. Control characters that XML 1.0 forbids and invalid UTF-8 become
/// U+FFFD.
std::string escape(std::string_view text);

/// At most two decimals, without trailing zeros: "3", "-0.5", "12.25". Never "-0".
std::string coordinate(double value);

/// In pt: Helvetica's widths plus 12 %, as another font may replace it.
double text_width(std::string_view text, double font_size);

}  // namespace lehi::plot
