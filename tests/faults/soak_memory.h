// Whether memory grows in a process that trains repeatedly and in a server that gets many requests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "faults/harness.h"

namespace lehi::faults {

struct Memory {
  std::string name;
  std::vector<double> megabytes;

  static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values.at(values.size() / 2);
  }
  double quarter(std::size_t which) const {
    const auto size = megabytes.size() / 4;
    const auto begin = megabytes.begin() + static_cast<std::ptrdiff_t>(which * size);
    return median({begin, begin + static_cast<std::ptrdiff_t>(size)});
  }
  bool enough() const { return megabytes.size() >= 16; }
  /// From the second to the last quarter; the first is a warm-up.
  double growth() const { return quarter(3) - quarter(1); }
  bool flat() const { return growth() <= std::max(2.0, 0.01 * quarter(1)); }
};

/// One process that trains repeatedly with these arguments, below `folder`.
Memory memory_of_many_runs(const std::filesystem::path& folder, const cli::Arguments& words, double seconds);

/// `lehi serve` with many requests while its study changes. `folder` is the layer's scratch directory.
Memory memory_of_serving(Layer& layer, const std::filesystem::path& folder, const std::filesystem::path& study,
                         double seconds);

}  // namespace lehi::faults
