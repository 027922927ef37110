// Tables with a row for each optimizer and a column for each learning rate.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/section.h"

namespace lehi::report {

/// The mean score over seeds; "*" marks the best rate of each row.
Table scores_by_rate(const std::vector<study::VariantRuns>& variants, const std::string& metric);

/// A sentence for each optimizer whose best rate is at the edge of its grid.
std::vector<std::string> edge_warnings(const std::vector<study::VariantRuns>& variants, const std::string& metric);

/// STABLE, NOISY or FAILED with the largest gradient entry, as in the paper's appendix.
Table stability_by_rate(const std::vector<study::VariantRuns>& variants);

}  // namespace lehi::report
