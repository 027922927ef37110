#include "report/seed_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/cost_table.h"
#include "report/format.h"
#include "report/paper_comparison.h"
#include "report/rate_tables.h"
#include "report/summary.h"

namespace lehi::report {

using study::VariantRuns;

namespace {

// How many runs diverged, and at which rates: "1 of 21 (0.1: 1)".
std::string diverged_text(const VariantRuns& variant) {
  std::size_t finished = 0;
  std::size_t diverged = 0;
  std::vector<std::string> rates;
  for (const auto& rate : variant.rates) {
    finished += rate.finished();
    diverged += rate.diverged();
    if (rate.diverged() > 0) rates.push_back(fmt::format("{}: {}", rate_text(rate.lr), rate.diverged()));
  }
  return diverged == 0 ? fmt::format("0 of {}", finished)
                       : fmt::format("{} of {} ({})", diverged, finished, fmt::join(rates, ", "));
}

// How the rates were picked, with the scores and the stability of all rates; empty if no optimizer has several rates.
Document selection_blocks(const Section& section, const Analysis& analysis) {
  if (!analysis.searched) return {};
  const auto& metric = analysis.selection_metric;
  const auto* rows = metric.starts_with("validation_")
                         ? "The metric is measured on rows held out from training."
                         : "No rows were held out, so rates are picked on the test rows, and the differences below "
                           "overstate the winners' advantage.";
  Document document = {
      Paragraph{
          fmt::format("Rates are picked by {}: the mean over seeds of {} over {}. A diverged seed counts as worst; "
                      "* marks the best rate of each optimizer. {}",
                      metric, score_formula(metric), last_evaluations(section.window()), rows)},
      scores_by_rate(analysis.variants, metric)};
  if (const auto warnings = edge_warnings(analysis.variants, metric); !warnings.empty()) {
    document.push_back(List{warnings});
  }
  document.push_back(Paragraph{
      "Stability. FAILED d/n: d of n runs ended in NaN. NOISY g (e): a gradient had an entry above 10; g is the "
      "largest entry, e the mean number of evaluations with such a step. STABLE g: neither."});
  document.push_back(stability_by_rate(analysis.variants));
  for (auto& block : paper_stability(section.task)) document.push_back(std::move(block));
  return document;
}

}  // namespace

Table seeds_table(const Analysis& analysis) {
  const auto& metric = analysis.metric;
  Table table{{}, {"verdict", "diverged runs"}};
  auto& header = table.rows.emplace_back(std::vector<std::string>{"optimizer", "rate"});
  for (const auto seed : analysis.seeds) header.push_back(fmt::format("seed {}", seed));
  for (const auto* text : {"mean ± std", "difference", "95 % interval", "bootstrap", "verdict", "diverged runs"}) {
    header.emplace_back(text);
  }
  const auto& baseline = *analysis.baseline;
  const auto base = values_of(*baseline.runs, metric);
  for (const auto& [variant, runs, selection] : analysis.picked) {
    std::vector<std::string> row = {variant->variant, rate_text(selection.lr)};
    for (const auto seed : analysis.seeds) {
      const auto run = std::find_if(runs->runs.begin(), runs->runs.end(),
                                    [seed](const auto* candidate) { return candidate->seed == seed; });
      row.push_back(run == runs->runs.end() ? "-"
                    : (*run)->finished()    ? metric_number(metric, (*run)->mean(metric))
                                            : std::string(study::status_text(**run)));
    }
    const auto spread = spread_of(*runs, metric);
    row.push_back(with_spread(metric, spread.mean, spread.std));
    if (variant == baseline.variant) {
      row.insert(row.end(), {"", "", "", "the baseline"});
    } else {
      const auto difference = study::paired_difference(values_of(*runs, metric), base);
      row.push_back(std::isfinite(difference.mean) ? difference_text(metric, difference.mean) : "-");
      row.push_back(interval_text(metric, difference.low, difference.high));
      row.push_back(interval_text(metric, difference.bootstrap.low, difference.bootstrap.high));
      row.push_back(study::verdict_text(metric, difference, baseline.variant->variant));
    }
    row.push_back(diverged_text(*variant));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Document seeds_report(const Section& section, const Analysis& analysis) {
  if (analysis.seeds.size() < 2) return {};
  Document document = {Heading{2, fmt::format("{}: optimizers over seeds", section.title())}};
  if (analysis.baseline == nullptr) {
    document.push_back(Paragraph{"No run has finished yet."});
    return document;
  }
  for (auto& block : selection_blocks(section, analysis)) document.push_back(std::move(block));
  const auto& metric = analysis.metric;
  const auto& baseline = analysis.baseline->variant->variant;
  document.push_back(Paragraph{fmt::format(
      "{} at {}: mean over {} of each seed; mean ± std over seeds; paired difference to {} ({} is better) "
      "with its 95 % interval by Student's t, which decides the verdict, and by bootstrap over seeds, which "
      "is too narrow with few seeds.",
      metric, analysis.searched ? "the picked rates" : "each optimizer's own rate", last_evaluations(section.window()),
      baseline, study::larger_is_better(metric) ? "higher" : "lower")});
  document.push_back(seeds_table(analysis));
  if (const auto sentences = control_sentences(analysis); !sentences.empty()) {
    document.push_back(Paragraph{"Compared with the control, momentum without curvature:"});
    document.push_back(List{sentences});
  }
  for (auto& block : seed_averages(section, analysis)) document.push_back(std::move(block));
  document.push_back(Paragraph{fmt::format(
      "Cost and stability of the same runs. Step time: fastest average over ten steps, relative to {0}; "
      "fastest, slowest: such averages in milliseconds. Forward, backward: passes of a run. Time and passes "
      "to {0}'s: until a run was as good as {0}'s final value with the same seed. Largest gradient: its "
      "largest entry. Steps above 10: mean number of steps where that entry is above 10. Eps dominates: "
      "fraction of weights whose scale is set by eps.",
      baseline)});
  document.push_back(cost_table(section, analysis));
  return document;
}

}  // namespace lehi::report
