// Sentences that sum up a section.
#pragma once

#include <string>
#include <vector>

#include "report/section.h"

namespace lehi::report {

/// The best optimizer, and which ones are better or worse than the baseline.
std::vector<std::string> summary_sentences(const Analysis& analysis);

/// Which curvature-aware optimizers are better than plain momentum (momentum-control, sgd), and which are not. Empty if
/// no such control was run.
std::vector<std::string> control_sentences(const Analysis& analysis);

}  // namespace lehi::report
