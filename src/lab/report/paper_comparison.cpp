#include "report/paper_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/format.h"
#include "report/rate_tables.h"
#include "study/paper.h"

namespace lehi::report {

using study::StudyRun;
using study::VariantRuns;
using Row = std::vector<std::string>;

namespace {

struct PaperComparison {
  Table table;                        ///< a row for each optimizer and rate
  std::size_t compared = 0;           ///< rows with a value of the paper
  std::size_t within = 0;             ///< of those, within the paper's tolerance
  std::set<std::string> differences;  ///< in configuration, of the runs that were not compared for that reason
};

PaperComparison compare_with_paper(const Section& section, const std::vector<VariantRuns>& variants,
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
        const auto text = difference_from_paper_preset(section, run);
        if (!text.empty()) {
          result.differences.insert(text);
          cell = nullptr;
        }
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

// The paper's rate with the best score, computed from its mean and two_std.
std::string paper_best_rate(const std::string& task, const std::string& optimizer, const std::string& metric) {
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

}  // namespace

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
  return {Paragraph{"The paper's table (its model, its training length, three seeds):"}, table};
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
  auto paper = compare_with_paper(section, variants, metric);
  document.push_back(Heading{2, fmt::format("{}: learning rates", section.title())});
  document.push_back(Paragraph{
      fmt::format("{} with seed {}: mean ± 2 std over {}.", metric, seed, last_evaluations(section.window()))});
  if (paper.compared > 0) {
    document.push_back(
        Paragraph{fmt::format("{} of {} results are within the paper's value ± max(4 of its std, {}).", paper.within,
                              paper.compared, study::larger_is_better(metric) ? "0.5 points" : "2.5 % of the value")});
  }
  if (paper.compared == 0) {  // without the paper's columns
    for (auto& row : paper.table.rows) row.resize(3);
  }
  document.push_back(paper.table);
  if (!paper.differences.empty()) {
    document.push_back(Paragraph{fmt::format(
        "Runs with other settings are not compared with the paper (there: the paper's setting, here: the run's): {}.",
        fmt::join(paper.differences, "; "))});
  }
  Table best{{{"optimizer", "best rate", "paper's"}}};
  for (const auto& variant : variants) {
    const auto selection = study::select_rate(variant, metric);
    if (!selection || variant.rates.size() < 2) continue;
    best.rows.push_back({variant.variant, std::isfinite(selection->score) ? rate_text(selection->lr) : "diverged",
                         paper_best_rate(section.task, variant.variant, metric)});
  }
  document.push_back(Paragraph{fmt::format("Best rates by score ({}):", score_formula(metric))});
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
      const bool differs = std::any_of(rate.runs.begin(), rate.runs.end(), [&](const auto* run) {
        return !difference_from_paper_preset(section, *run).empty();
      });
      const auto window = study::seed_averaged(rate, metric, study::Diverged::dropped);
      if (differs || !window) continue;
      table.rows.push_back({variant.variant, rate_text(rate.lr), metric_number(metric, study::mean_score(rate, metric)),
                            with_spread(metric, window->mean, window->two_std),
                            with_spread(metric, cell->mean, cell->two_std),
                            difference_text(metric, window->mean - cell->mean)});
    }
  }
  if (table.rows.size() == 1) return {};
  return {
      Paragraph{fmt::format(
          "Compared with the paper's summary over three seeds: mean ± 2 std over {} of the curve averaged over seeds. "
          "The averaged curve leaves out diverged seeds; in the score they count as worst.",
          last_evaluations(section.window()))},
      table};
}

}  // namespace lehi::report
