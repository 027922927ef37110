// Tables that compare our results with the paper's.
#pragma once

#include <string>

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// The runs of the first seed by learning rate, next to the paper's values, and the best rates. Empty if no optimizer
/// has several rates.
Document rate_search(const Section& section);

/// The paper's stability table for the task; empty if it has none.
Document paper_stability(const std::string& task);

/// Averages over seeds next to the paper's summary over three seeds; empty if the paper has none of the rates.
Document seed_averages(const Section& section, const Analysis& analysis);

}  // namespace lehi::report
