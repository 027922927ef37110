// Optimizers over seeds, each at the rate that was picked for it: who is better, how sure that is, and what it costs.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// What a reader should take away, one sentence each.
std::vector<std::string> summary_sentences(const Analysis& analysis);

/// Every seed, mean ± std, and the paired difference to the baseline with both intervals and a verdict. Of an analysis
/// with a baseline, as the next two.
Table seeds_table(const Analysis& analysis);

/// Steps, passes, memory, and the way to what the baseline ended with.
Table cost_table(const Section& section, const Analysis& analysis);

/// Where plain momentum (momentum-control, sgd) does as well, the curvature did not matter.
std::vector<std::string> control_sentences(const Analysis& analysis);

/// How the rates were picked, and the scores that did it; nothing where there was nothing to pick.
Document selection_blocks(const Section& section, const Analysis& analysis);

/// The tables above with the words between them; nothing with one seed.
Document seeds_report(const Section& section, const Analysis& analysis);

}  // namespace lehi::report
