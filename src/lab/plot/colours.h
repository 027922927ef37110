// The colours and display names of optimizers, the same in every figure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::plot {

/// LEHI green, LEHIBRID purple, Adam red, AdamW blue, Sophia-G orange, lehi-gn teal; each other preset has its own
/// colour. Any other name, such as the variant "lehi-gn[mix=max]", gets a palette colour by a hash of the name, so two
/// names may share one.
std::string colour_of(std::string_view optimizer);

/// The colours of the lines of one figure. The first variant of an optimizer has the optimizer's colour; all colours
/// differ while the palette suffices.
std::vector<std::string> colours_of(const std::vector<std::string>& optimizers);

/// The n-th colour, cyclically, of a palette that colour-blind readers can distinguish; for lines that are not
/// optimizers.
std::string palette(std::size_t n);

/// The paper's spelling: "LEHI", "LEHIBRID", "Adam", "AdamW", "Sophia-G". Options in brackets and other names are kept
/// unchanged.
std::string display_name(std::string_view optimizer);

}  // namespace lehi::plot
