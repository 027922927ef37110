// The colours of optimizers, the same in every figure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::plot {

/// LEHI green, LEHIBRID purple, Adam red, AdamW blue, Sophia-G orange, lehi-gn teal; the other presets have one each. A
/// variant such as "lehi-gn[mix=max]" and any other name has one of a fixed palette, by the letters of its name: two of
/// them may share it.
std::string colour_of(std::string_view optimizer);

/// For lines of one figure: the first variant of an optimizer has its colour, and no two share one as long as there are
/// enough.
std::vector<std::string> colours_of(const std::vector<std::string>& optimizers);

/// The n-th of a palette that colour-blind readers can tell apart, around again after the last; for lines that are no
/// optimizers.
std::string palette(std::size_t n);

/// As the paper writes it: "LEHI", "LEHIBRID", "Adam", "AdamW", "Sophia-G"; so does a variant's begin, and other names
/// stay as they are.
std::string display_name(std::string_view optimizer);

}  // namespace lehi::plot
