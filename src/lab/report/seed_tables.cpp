#include "report/seed_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/rate_tables.h"
#include "study/baseline.h"
#include "study/run_cost.h"
#include "study/stability.h"

namespace lehi::report {

using study::RateRuns;
using study::StudyRun;
using study::VariantRuns;
using Row = std::vector<std::string>;

namespace {

std::string interval_text(const std::string& metric, double low, double high) {
  if (!std::isfinite(low)) return "-";
  return fmt::format("{} to {}", difference_text(metric, low), difference_text(metric, high));
}

study::MeanAndStd spread_of(const RateRuns& runs, const std::string& metric) {
  std::vector<double> values;
  for (const auto& value : values_of(runs, metric)) values.push_back(value.value);
  return study::mean_and_std(values);
}

// "1 of 21 (0.1: 1)": which rates had seeds that diverged.
std::string diverged_text(const VariantRuns& variant) {
  std::size_t all = 0;
  std::size_t lost = 0;
  std::vector<std::string> where;
  for (const auto& rate : variant.rates) {
    all += rate.finished();
    lost += rate.diverged();
    if (rate.diverged() > 0) where.push_back(fmt::format("{}: {}", rate_text(rate.lr), rate.diverged()));
  }
  return lost == 0 ? fmt::format("0 of {}", all) : fmt::format("{} of {} ({})", lost, all, fmt::join(where, ", "));
}

std::string number_text(double value, int digits, const char* unit = "") {
  return std::isfinite(value) ? fmt::format("{:.{}g}{}", value, digits, unit) : "-";
}

std::string count_text(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : "-"; }

double mean_eps_dominated(const RateRuns& runs) {
  std::vector<double> values;
  for (const auto* run : runs.runs) {
    if (std::isfinite(run->eps_dominated)) values.push_back(run->eps_dominated);
  }
  return study::mean_and_std(values).mean;
}

std::string reached_text(const study::Reached& reached, const std::string& text) {
  if (reached.seeds == 0) return "-";
  if (reached.reached == 0) return "never";
  return reached.reached == reached.seeds ? text : fmt::format("{} ({}/{})", text, reached.reached, reached.seeds);
}

// The best by what is reported; null when every one diverged.
const Picked* best_of(const Analysis& analysis) {
  const Picked* best = nullptr;
  double best_mean = study::kNan;
  for (const auto& entry : analysis.picked) {
    const double mean = spread_of(*entry.runs, analysis.metric).mean;
    if (!std::isfinite(mean) || (best != nullptr && !study::better(analysis.metric, mean, best_mean))) continue;
    best = &entry;
    best_mean = mean;
  }
  return best;
}

}  // namespace

std::vector<std::string> summary_sentences(const Analysis& analysis) {
  if (analysis.baseline == nullptr) return {"No run has finished yet."};
  const auto* best = best_of(analysis);
  if (best == nullptr) return {"Every run that has finished diverged."};
  const auto& metric = analysis.metric;
  const auto spread = spread_of(*best->runs, metric);
  std::vector<std::string> sentences = {
      fmt::format("Best {}: {} at rate {} with {} over {} seed{}{}.", metric, best->variant->variant,
                  rate_text(best->selection.lr), with_spread(metric, spread.mean, spread.std), spread.count,
                  spread.count == 1 ? "" : "s", spread.count == 1 ? ", which is a trial and no comparison" : "")};
  if (analysis.seeds.size() < 2) return sentences;
  const auto& baseline = *analysis.baseline;
  const auto base = values_of(*baseline.runs, metric);
  std::map<study::Verdict, std::vector<std::string>> names;
  for (const auto& entry : analysis.picked) {
    if (entry.variant == baseline.variant) continue;
    const auto difference = study::paired_difference(values_of(*entry.runs, metric), base);
    auto text = entry.variant->variant;
    if (std::isfinite(difference.low)) {
      text += fmt::format(" ({}, {})", difference_text(metric, difference.mean),
                          interval_text(metric, difference.low, difference.high));
    }
    names[study::verdict(metric, difference)].push_back(std::move(text));
  }
  const auto add = [&](study::Verdict verdict, const std::string& words) {
    if (const auto found = names.find(verdict); found != names.end()) {
      sentences.push_back(fmt::format("{}: {}.", words, fmt::join(found->second, ", ")));
    }
  };
  const auto& name = baseline.variant->variant;
  add(study::Verdict::better, fmt::format("Better than {} (difference, 95 % interval)", name));
  add(study::Verdict::worse, fmt::format("Worse than {}", name));
  add(study::Verdict::unclear, fmt::format("No clear difference from {} with {} seeds", name, base.size()));
  return sentences;
}

Table seeds_table(const Analysis& analysis) {
  const auto& metric = analysis.metric;
  Table table{{}, {"verdict", "diverged runs"}};
  auto& header = table.rows.emplace_back(Row{"optimizer", "rate"});
  for (const auto seed : analysis.seeds) header.push_back(fmt::format("seed {}", seed));
  for (const auto* text : {"mean ± std", "difference", "95 % interval", "bootstrap", "verdict", "diverged runs"}) {
    header.emplace_back(text);
  }
  const auto& baseline = *analysis.baseline;
  const auto base = values_of(*baseline.runs, metric);
  for (const auto& [variant, runs, selection] : analysis.picked) {
    Row row = {variant->variant, rate_text(selection.lr)};
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

Table cost_table(const Section& section, const Analysis& analysis) {
  const auto& baseline = *analysis.baseline;
  const auto& name = baseline.variant->variant;
  Table table{{{"optimizer", "rate", "step time", "fastest", "slowest", "forward", "backward", "peak memory",
                fmt::format("time to {}'s", name), fmt::format("passes to {}'s", name), "largest gradient",
                "steps above 10", "eps dominates"}}};
  const double base = study::cost_of(*baseline.runs).fastest_step;
  const auto place = [&](const StudyRun& run) { return section.places.at(&run); };
  for (const auto& [variant, runs, selection] : analysis.picked) {
    const auto cost = study::cost_of(*runs);
    const auto stability = study::stability_of(*runs);
    const auto reached = study::reach_baseline(*runs, *baseline.runs, analysis.metric, place);
    const double dominated = mean_eps_dominated(*runs);
    table.rows.push_back(
        {variant->variant, rate_text(selection.lr), number_text(cost.fastest_step / base, 3),
         number_text(1e3 * cost.fastest_step, 3, " ms"), number_text(1e3 * cost.slowest_step, 3, " ms"),
         count_text(cost.forward_passes), count_text(cost.backward_passes),
         number_text(cost.peak_memory_bytes / 1e6, 3, " MB"),
         reached_text(reached, number_text(reached.effort.seconds, 3, " s")),
         reached_text(reached, count_text(reached.effort.forward_passes + reached.effort.backward_passes)),
         number_text(stability.largest_gradient, 3), number_text(stability.spike_steps, 4),
         std::isfinite(dominated) ? fmt::format("{:.1f} %", 100.0 * dominated) : "-"});
  }
  return table;
}

std::vector<std::string> control_sentences(const Analysis& analysis) {
  std::vector<std::string> sentences;
  for (const auto& control : analysis.picked) {
    if (control.variant->variant != study::kMomentumControl && control.variant->optimizer != "sgd") continue;
    const auto values = values_of(*control.runs, analysis.metric);
    std::map<study::Verdict, std::vector<std::string>> names;
    for (const auto& entry : analysis.picked) {
      if (!entry.variant->optimizer.starts_with("lehi")) continue;
      const auto difference = study::paired_difference(values_of(*entry.runs, analysis.metric), values);
      names[study::verdict(analysis.metric, difference)].push_back(entry.variant->variant);
    }
    const auto& name = control.variant->variant;
    if (const auto& better = names[study::Verdict::better]; !better.empty()) {
      sentences.push_back(fmt::format("Better than {}: {}.", name, fmt::join(better, ", ")));
    }
    auto others = names[study::Verdict::worse];
    const auto& unclear = names[study::Verdict::unclear];
    others.insert(others.end(), unclear.begin(), unclear.end());
    if (!others.empty()) {
      sentences.push_back(
          fmt::format("Not clearly better than {}, so that plain momentum does as well and the curvature did not "
                      "matter here: {}.",
                      name, fmt::join(others, ", ")));
    }
  }
  return sentences;
}

Document selection_blocks(const Section& section, const Analysis& analysis) {
  if (!analysis.searched) return {};
  const auto& chosen_by = analysis.chosen_by;
  Document document = {
      Paragraph{fmt::format(
          "Rates picked by {}: the mean over seeds of the score ({} over the last {} evaluations){}. A seed that "
          "diverged counts as worst. The best rate of each optimizer has a star.",
          chosen_by, score_formula(chosen_by), section.window(),
          chosen_by.starts_with("validation_")
              ? ", on rows held out from training"
              : ", on the test rows themselves, since nothing was held out: the differences below flatter the "
                "winners")},
      scores_by_rate(analysis.variants, chosen_by)};
  if (const auto warnings = edge_warnings(analysis.variants, chosen_by); !warnings.empty()) {
    document.push_back(List{warnings});
  }
  document.push_back(Paragraph{
      "Stability: NOISY where a step had a gradient with an entry above 10 (the largest one, and in brackets the mean "
      "number of evaluations with such a step), FAILED where a run ended in NaN (of how many), else STABLE."});
  document.push_back(stability_by_rate(analysis.variants));
  for (auto& block : paper_stability(section.task)) document.push_back(std::move(block));
  return document;
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
  const auto& name = analysis.baseline->variant->variant;
  document.push_back(Paragraph{fmt::format(
      "{} at {}: mean over the last {} evaluations of each seed, mean ± std over seeds, and the paired difference to "
      "{} "
      "({} is better) with its 95 % interval: Student's t, which the verdict follows, and the bootstrap over seeds, "
      "which is too narrow with few of them.",
      metric, analysis.searched ? "the picked rates" : "each optimizer's own rate", section.window(), name,
      study::larger_is_better(metric) ? "more" : "less")});
  document.push_back(seeds_table(analysis));
  if (const auto sentences = control_sentences(analysis); !sentences.empty()) {
    document.push_back(Paragraph{"Against the control, momentum without curvature:"});
    document.push_back(List{sentences});
  }
  for (auto& block : seed_averages(section, analysis)) document.push_back(std::move(block));
  document.push_back(Paragraph{fmt::format(
      "Cost and stability of the same runs: time of a step relative to {} (fastest average over ten steps; that and "
      "the slowest in milliseconds), passes of a run, seconds and passes until it was as good as {} ended, largest "
      "entry of a gradient, mean number of steps where that is above 10, and the fraction of weights whose scale eps "
      "decides.",
      name, name)});
  document.push_back(cost_table(section, analysis));
  return document;
}

}  // namespace lehi::report
