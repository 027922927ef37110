// The progress lines of a run: one JSON object per line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lehi::study {

/// One line that `lehi train --progress lines` prints.
struct ProgressLine {
  std::int64_t step = 0;
  std::int64_t total = 0;
  std::int64_t epoch = 0;
  double train_loss = 0.0;  ///< NaN while it is not known
};

/// Nothing when the line is not a progress line.
std::optional<ProgressLine> parse_progress_line(std::string_view line);

}  // namespace lehi::study
