// What the writer needs of text: escaping, short numbers, and how wide a line will be about.
#pragma once

#include <string>
#include <string_view>

namespace lehi::plot {

/// For text and attributes of XML. What XML 1.0 can't hold (control characters, bytes that are no UTF-8) becomes
/// U+FFFD.
std::string escape(std::string_view text);

/// At most two decimals and no more than needed: "3", "-0.5", "12.25". Never "-0".
std::string coordinate(double value);

/// In pt, by Helvetica's widths and an eighth more for the fonts that may stand in for it.
double text_width(std::string_view text, double font_size);

}  // namespace lehi::plot
