// The losses by their names on the command line, with the parameters that some of them have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lehi/loss.h"

namespace lehi::cli {

/// Unset numbers take the loss's default.
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
  std::string_view numbers;  ///< its LossNumbers as flags without dashes, separated by spaces
};

const std::vector<LossEntry>& loss_table();

/// Throws std::invalid_argument for an unknown name and for a number that this loss does not have.
std::unique_ptr<Loss> make_loss(std::string_view name, const LossNumbers& numbers = {});

}  // namespace lehi::cli
