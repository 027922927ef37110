// The losses by the names of the command line, with the numbers that some of them take.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lehi/loss.h"

namespace lehi::cli {

/// Unset numbers take the loss's default; one that the loss does not have is refused.
struct LossNumbers {
  std::optional<double> delta;            ///< huber
  std::optional<double> gamma;            ///< focal
  std::optional<double> alpha;            ///< focal
  std::optional<double> label_smoothing;  ///< cross-entropy
};

struct LossEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Loss> (*make)(const LossNumbers& numbers);
  std::string_view numbers;  ///< the LossNumbers that it has, by the names of the flags, separated by spaces
};

const std::vector<LossEntry>& loss_table();

/// Throws std::invalid_argument for an unknown name (listing the known ones) and for numbers that are not this loss's.
std::unique_ptr<Loss> make_loss(std::string_view name, const LossNumbers& numbers = {});

}  // namespace lehi::cli
