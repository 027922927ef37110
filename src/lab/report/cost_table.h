// What the optimizers of a section cost.
#pragma once

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// Step time, passes, memory, stability, and the time and passes to reach the baseline's final value, of each optimizer
/// at its picked rate. `analysis` must have a baseline.
Table cost_table(const Section& section, const Analysis& analysis);

}  // namespace lehi::report
