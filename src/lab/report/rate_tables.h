// What a search over learning rates found: scores, the best rates, stability, and the paper's values beside ours.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// The variants in rows, the rates in columns: the mean score over seeds, the best of a row marked.
Table scores_by_rate(const std::vector<study::VariantRuns>& variants, const std::string& metric);

/// A sentence for each best rate at the grid's edge.
std::vector<std::string> edge_warnings(const std::vector<study::VariantRuns>& variants, const std::string& metric);

/// STABLE, NOISY or FAILED with the largest gradient by optimizer and rate, as the paper's appendix has it.
Table stability_by_rate(const std::vector<study::VariantRuns>& variants);

/// The paper's own such table, where it has one for the task; else nothing.
Document paper_stability(const std::string& task);

/// Learning rates with the first seed beside the paper's, and the best ones; nothing where no optimizer has several.
Document rate_search(const Section& section);

/// The paper's summary over three seeds beside ours; nothing where it has none of the rates.
Document seed_averages(const Section& section, const Analysis& analysis);

}  // namespace lehi::report
