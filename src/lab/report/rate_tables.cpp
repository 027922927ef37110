#include "report/rate_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "report/format.h"
#include "study/stability.h"

namespace lehi::report {

using study::RateRuns;
using study::VariantRuns;

namespace {

std::string stability_text(const study::Stability& stability) {
  const std::string text(study::status_text(stability.status));
  switch (stability.status) {
    case study::StabilityStatus::failed:
      return fmt::format("{} {}/{}", text, stability.diverged, stability.runs);
    case study::StabilityStatus::noisy:
      return fmt::format("{} {:.3g} ({:.3g})", text, stability.largest_gradient, stability.spike_evaluations);
    default:
      return std::isfinite(stability.largest_gradient) && stability.runs > 0
                 ? fmt::format("{} {:.2g}", text, stability.largest_gradient)
                 : text;
  }
}

// A row for each variant, a column for each rate. `cells(variant)` returns a function from RateRuns to a cell. Cells of
// rates that were not run are empty.
template <class Cells>
Table table_by_rate(const std::vector<VariantRuns>& variants, const Cells& cells) {
  Table table;
  const auto rates = rates_of(variants);
  table.rows.push_back({"optimizer"});
  for (const double rate : rates) table.rows.front().push_back(rate_text(rate));
  for (const auto& variant : variants) {
    auto& row = table.rows.emplace_back(std::vector<std::string>{variant.variant});
    const auto cell = cells(variant);
    for (const double rate : rates) {
      const auto* runs = at_rate(variant, rate);
      row.push_back(runs == nullptr ? std::string() : cell(*runs));
    }
  }
  return table;
}

}  // namespace

Table scores_by_rate(const std::vector<VariantRuns>& variants, const std::string& metric) {
  return table_by_rate(variants, [&](const VariantRuns& variant) {
    return [&metric, best = study::select_rate(variant, metric)](const RateRuns& rate) -> std::string {
      if (rate.finished() == 0) return "-";
      const double score = study::mean_score(rate, metric);
      std::string text = std::isfinite(score) ? metric_number(metric, score)
                                              : fmt::format("diverged {}/{}", rate.diverged(), rate.runs.size());
      if (best && best->lr == rate.lr && std::isfinite(best->score)) text += " *";
      return text;
    };
  });
}

std::vector<std::string> edge_warnings(const std::vector<VariantRuns>& variants, const std::string& metric) {
  std::vector<std::string> warnings;
  for (const auto& variant : variants) {
    const auto best = study::select_rate(variant, metric);
    if (!best) continue;
    if (auto text = study::edge_warning(variant, *best, metric); !text.empty()) warnings.push_back(text + ".");
  }
  return warnings;
}

Table stability_by_rate(const std::vector<VariantRuns>& variants) {
  return table_by_rate(variants, [](const VariantRuns&) {
    return [](const RateRuns& rate) { return stability_text(study::stability_of(rate)); };
  });
}

}  // namespace lehi::report
