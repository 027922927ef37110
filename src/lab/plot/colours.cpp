#include "plot/colours.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace lehi::plot {
namespace {

// The colours differ in lightness, too, for greyscale prints and colour-blind readers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> optimizer_colours = {{
    {"lehi", "#1a9641"},
    {"lehibrid", "#7b3294"},
    {"adam", "#d7191c"},
    {"adamw", "#2166ac"},
    {"sophia-g", "#f28e1c"},
    {"lehi-gn", "#01a6a0"},
    {"lehi-kron", "#c51b7d"},
    {"soap", "#4393c3"},
    {"muon", "#000000"},
    {"lion", "#a6b800"},
    {"sgd", "#4d4d4d"},
    {"adam-simplified", "#e78ac3"},
    {"amsgrad", "#a6611a"},
    {"nadam", "#b8860b"},
    {"radam", "#6a3d00"},
    {"adagrad", "#80b1d3"},
    {"rmsprop", "#999999"},
}};

// Okabe and Ito (2008), without yellow, which is hard to see on white.
constexpr std::array<std::string_view, 7> palette_colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                             "#56b4e9", "#e69f00", "#000000"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> display_names = {{
    {"lehi", "LEHI"},
    {"lehibrid", "LEHIBRID"},
    {"adam", "Adam"},
    {"adamw", "AdamW"},
    {"sophia-g", "Sophia-G"},
    {"amsgrad", "AMSGrad"},
    {"nadam", "NAdam"},
    {"radam", "RAdam"},
    {"adagrad", "Adagrad"},
    {"rmsprop", "RMSprop"},
    {"sgd", "SGD"},
    {"soap", "SOAP"},
    {"muon", "Muon"},
    {"lion", "Lion"},
}};

// "lehi-gn" for "lehi-gn[mix=max]".
std::string_view base_of(std::string_view variant) { return variant.substr(0, variant.find('[')); }

bool is_known(std::string_view optimizer) {
  return std::any_of(optimizer_colours.begin(), optimizer_colours.end(),
                     [&](const auto& entry) { return entry.first == optimizer; });
}

}  // namespace

std::string palette(std::size_t n) { return std::string(palette_colours.at(n % palette_colours.size())); }

std::string colour_of(std::string_view optimizer) {
  for (const auto& [name, colour] : optimizer_colours) {
    if (name == optimizer) return std::string(colour);
  }
  std::uint32_t hash = 2166136261U;  // FNV-1a; std::hash may differ between builds
  for (const char letter : optimizer) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return palette(hash);
}

std::vector<std::string> colours_of(const std::vector<std::string>& optimizers) {
  std::vector<std::string> colours(optimizers.size());
  const auto is_used = [&](const std::string& colour) {
    return std::find(colours.begin(), colours.end(), colour) != colours.end();
  };
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const auto base = base_of(optimizers[i]);
    if (is_known(base) && !is_used(colour_of(base))) colours[i] = colour_of(base);
  }
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    for (std::size_t n = 0; colours[i].empty() && n < palette_colours.size(); ++n) {
      if (!is_used(palette(n))) colours[i] = palette(n);
    }
    if (colours[i].empty()) colours[i] = colour_of(optimizers[i]);
  }
  return colours;
}

std::string display_name(std::string_view optimizer) {
  const auto base = base_of(optimizer);
  for (const auto& [name, display] : display_names) {
    if (name == base) return std::string(display).append(optimizer.substr(base.size()));
  }
  return std::string(optimizer);
}

}  // namespace lehi::plot
