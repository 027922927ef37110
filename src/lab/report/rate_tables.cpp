#include "report/rate_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "study/paper.h"
#include "study/stability.h"

namespace lehi::report {

using study::RateRuns;
using study::StudyRun;
using study::VariantRuns;
using Row = std::vector<std::string>;

namespace {

struct PaperComparison {
  Table table;
  std::size_t compared = 0;
  std::size_t within = 0;
  std::set<std::string> departures;
};

PaperComparison beside_paper(const Section& section, const std::vector<VariantRuns>& variants,
                             const std::string& metric) {
  PaperComparison result;
  result.table.rows.push_back({"optimizer", "rate", "measured", "paper", "difference", "allowed", "within"});
  for (const auto& variant : variants) {
    for (const auto& rate : variant.rates) {
      const auto& run = *rate.runs.front();
      const auto window = run.windows.find(metric);
      const double two_std = window != run.windows.end() ? window->second.two_std : std::nan("");
      const std::string status(study::status_text(run));
      Row row = {variant.variant,
                 rate_text(rate.lr),
                 run.done() ? with_spread(metric, run.mean(metric), two_std) : status,
                 "",
                 "",
                 "",
                 ""};
      const auto* cell = study::paper_cell(section.task, variant.variant, rate.lr);
      if (cell != nullptr) {
        const auto text = departure(run, section.places.at(&run));
        if (!text.empty()) result.departures.insert(text);
        if (!text.empty()) cell = nullptr;
      }
      if (cell != nullptr) {
        const double tolerance = study::paper_tolerance(metric, *cell);
        const double difference = run.mean(metric) - cell->mean;
        const bool within = run.done() && std::abs(difference) <= tolerance;
        row[3] = with_spread(metric, cell->mean, cell->two_std);
        row[4] = run.done() ? difference_text(metric, difference) : "-";
        row[5] = metric_number(metric, tolerance);
        row[6] = within ? "yes" : run.finished() ? "no" : "-";
        ++result.compared;
        result.within += within ? 1U : 0U;
      }
      result.table.rows.push_back(std::move(row));
    }
  }
  return result;
}

// The paper's best rate by the score that its mean and two_std give.
std::string paper_best(const std::string& task, const std::string& optimizer, const std::string& metric) {
  const auto table = study::paper_tables().find(task);
  if (table == study::paper_tables().end()) return "";
  const auto cells = table->second.search.find(optimizer);
  if (cells == table->second.search.end()) return "";
  const auto score = [&](const study::PaperCell& cell) {
    return study::larger_is_better(metric) ? cell.mean - cell.two_std : cell.mean + cell.two_std;
  };
  const auto best = std::min_element(cells->second.begin(), cells->second.end(), [&](const auto& a, const auto& b) {
    return study::better(metric, score(a), score(b));
  });
  return rate_text(best->lr);
}

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

// The variants in rows, the rates in columns: `cells(variant)` writes the cell of a rate; one that was not run is
// empty.
template <class Cells>
Table table_by_rate(const std::vector<VariantRuns>& variants, const Cells& cells) {
  Table table;
  const auto rates = rates_of(variants);
  auto& header = table.rows.emplace_back(Row{"optimizer"});
  for (const double rate : rates) header.push_back(rate_text(rate));
  for (const auto& variant : variants) {
    Row row = {variant.variant};
    const auto cell = cells(variant);
    for (const double rate : rates) {
      const auto* runs = at_rate(variant, rate);
      row.push_back(runs == nullptr ? std::string() : cell(*runs));
    }
    table.rows.push_back(std::move(row));
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

Document paper_stability(const std::string& task) {
  const auto found = study::paper_tables().find(task);
  if (found == study::paper_tables().end() || found->second.stability.empty()) return {};
  Table table;
  for (const auto& [optimizer, cells] : found->second.stability) {
    if (table.rows.empty()) {
      table.rows.push_back({"optimizer"});
      for (const auto& cell : cells) table.rows.front().push_back(rate_text(cell.lr));
    }
    Row row = {optimizer};
    for (const auto& cell : cells) {
      row.push_back(cell.status == "FAILED"  ? fmt::format("FAILED {}/3", cell.nans)
                    : cell.status == "NOISY" ? fmt::format("NOISY {:.3g} ({:.3g})", cell.largest_gradient, cell.spikes)
                                             : fmt::format("{} {:.2g}", cell.status, cell.largest_gradient));
    }
    table.rows.push_back(std::move(row));
  }
  return {Paragraph{"The paper's own table, of its own model and length, three seeds:"}, table};
}

Document rate_search(const Section& section) {
  Document document;
  const auto seed = seeds_of(section.runs).front();
  std::vector<const StudyRun*> runs;
  for (const auto* run : section.runs) {
    if (run->seed == seed) runs.push_back(run);
  }
  const auto variants = study::group_runs(runs);
  const bool searched =
      std::any_of(variants.begin(), variants.end(), [](const auto& variant) { return variant.rates.size() > 1; });
  if (!searched) return document;
  const auto& metric = section.runs.front()->metric;
  auto paper = beside_paper(section, variants, metric);
  document.push_back(Heading{2, fmt::format("{}: learning rates", section.title())});
  document.push_back(Paragraph{
      fmt::format("{} with seed {}: mean ± 2 std over the last {} evaluations.", metric, seed, section.window())});
  if (paper.compared > 0) {
    document.push_back(
        Paragraph{fmt::format("{} of {} cells are within the paper's value ± max(2 x its 2 std, {}).", paper.within,
                              paper.compared, study::larger_is_better(metric) ? "0.5 points" : "2.5 % of the value")});
  }
  // Where the paper has nothing to stand beside, its columns are left away.
  if (paper.compared == 0) {
    for (auto& row : paper.table.rows) row.resize(3);
  }
  document.push_back(paper.table);
  if (!paper.departures.empty()) {
    document.push_back(Paragraph{
        fmt::format("Some runs are not beside the paper because they depart from its settings (there: the paper's, "
                    "here: the run's): {}.",
                    fmt::join(paper.departures, "; "))});
  }
  Table best{{{"optimizer", "best rate", "paper's"}}};
  for (const auto& variant : variants) {
    const auto selection = study::select_rate(variant, metric);
    if (!selection || variant.rates.size() < 2) continue;
    best.rows.push_back({variant.variant, std::isfinite(selection->score) ? rate_text(selection->lr) : "diverged",
                         paper_best(section.task, variant.variant, metric)});
  }
  document.push_back(Paragraph{fmt::format("The best rates by score ({}):", score_formula(metric))});
  document.push_back(best);
  if (const auto warnings = edge_warnings(variants, metric); !warnings.empty()) document.push_back(List{warnings});
  return document;
}

Document seed_averages(const Section& section, const Analysis& analysis) {
  if (section.held_out) return {};  // the paper's runs train on all rows
  const auto& metric = analysis.metric;
  Table table{{{"optimizer", "rate", "score over seeds", "averaged curve", "paper", "difference"}}};
  for (const auto& variant : analysis.variants) {
    for (const auto& rate : variant.rates) {
      const auto* cell = study::paper_summary_cell(section.task, variant.variant, rate.lr);
      if (cell == nullptr || rate.runs.size() < 2) continue;
      const bool departs = std::any_of(rate.runs.begin(), rate.runs.end(), [&](const auto* run) {
        return !departure(*run, section.places.at(run)).empty();
      });
      const auto window = study::seed_averaged(rate, metric, study::Diverged::dropped);
      if (departs || !window) continue;
      table.rows.push_back({variant.variant, rate_text(rate.lr), metric_number(metric, study::mean_score(rate, metric)),
                            with_spread(metric, window->mean, window->two_std),
                            with_spread(metric, cell->mean, cell->two_std),
                            difference_text(metric, window->mean - cell->mean)});
    }
  }
  if (table.rows.size() == 1) return {};
  return {Paragraph{fmt::format("Beside the paper's summary over its three seeds, which is mean ± 2 std over the last "
                                "{} evaluations of the curve averaged over seeds (a diverged seed is left out there, "
                                "here it counts as worst in the score):",
                                section.window())},
          table};
}

}  // namespace lehi::report
