// Optimizers compared over seeds, each at its picked rate.
#pragma once

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// A row for each optimizer: its result with every seed, mean ± std, and the paired difference to the baseline with two
/// intervals and a verdict. `analysis` must have a baseline.
Table seeds_table(const Analysis& analysis);

/// All tables over seeds with the text between them; empty with one seed.
Document seeds_report(const Section& section, const Analysis& analysis);

}  // namespace lehi::report
