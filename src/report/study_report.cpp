#include "report/study_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "study/comparison.h"
#include "study/paper.h"
#include "study/selection.h"
#include "train/config.h"
#include "train/files.h"

namespace lehi::report {
namespace {

using study::RateRuns;
using study::StudyRun;
using study::VariantRuns;
using Row = std::vector<std::string>;

constexpr std::string_view kControl = "momentum-control";

/// The runs that may stand in one table: of one task and preset, with or without a part held out for validation.
struct Section {
  std::string task;
  std::string preset;
  bool held_out = false;
  std::vector<const StudyRun*> runs;
  std::map<const StudyRun*, std::filesystem::path> places;
  std::vector<std::string> notices;

  std::int64_t window() const { return runs.front()->window; }
};

bool has_validation(const StudyRun& run) {
  return std::any_of(run.windows.begin(), run.windows.end(),
                     [](const auto& window) { return window.first.starts_with("validation_"); });
}

std::vector<Section> sections_of(const std::vector<NamedStudy>& studies) {
  std::vector<Section> sections;
  for (const auto& [directory, study] : studies) {
    std::set<std::string> held_out;  // tasks; a diverged run does not tell by itself
    for (const auto& run : study.runs) {
      if (has_validation(run)) held_out.insert(run.task);
    }
    for (const auto& run : study.runs) {
      const bool held = held_out.count(run.task) != 0;
      auto section = std::find_if(sections.begin(), sections.end(), [&](const auto& candidate) {
        return candidate.task == run.task && candidate.preset == run.preset && candidate.held_out == held;
      });
      if (section == sections.end())
        section = sections.insert(sections.end(), {run.task, run.preset, held, {}, {}, {}});
      const bool there = std::any_of(section->runs.begin(), section->runs.end(), [&](const auto* other) {
        return other->variant == run.variant && other->lr == run.lr && other->seed == run.seed;
      });
      if (there) {
        section->notices.push_back(
            fmt::format("{} with rate {} and seed {} is in more than one study; the one named first counts.",
                        run.variant, run.lr, run.seed));
        continue;
      }
      section->runs.push_back(&run);
      section->places[&run] = directory / run.directory;
    }
  }
  return sections;
}

std::vector<std::uint64_t> seeds_of(const std::vector<const StudyRun*>& runs) {
  std::set<std::uint64_t> seeds;
  for (const auto* run : runs) seeds.insert(run->seed);
  return {seeds.begin(), seeds.end()};
}

std::vector<double> rates_of(const std::vector<VariantRuns>& variants) {
  std::set<double> rates;
  for (const auto& variant : variants) {
    for (const auto& rate : variant.rates) rates.insert(rate.lr);
  }
  return {rates.begin(), rates.end()};
}

const RateRuns* at_rate(const VariantRuns& variant, double lr) {
  const auto found =
      std::find_if(variant.rates.begin(), variant.rates.end(), [lr](const auto& rate) { return rate.lr == lr; });
  return found != variant.rates.end() ? &*found : nullptr;
}

std::string rate_text(double lr) { return fmt::format("{:g}", lr); }

std::string task_title(const Section& section) {
  return fmt::format("{} ({} preset{})", study::short_task(section.task), section.preset,
                     section.held_out ? ", part of the training rows held out" : "");
}

std::string score_formula(const std::string& metric) {
  return fmt::format("mean {} 2 std", study::larger_is_better(metric) ? "-" : "+");
}

/// The variants in rows, the rates in columns: the mean score over seeds, the best of a row marked.
Table scores_by_rate(const std::vector<VariantRuns>& variants, const std::string& metric) {
  Table table;
  const auto rates = rates_of(variants);
  auto& header = table.rows.emplace_back(Row{"optimizer"});
  for (const double rate : rates) header.push_back(rate_text(rate));
  for (const auto& variant : variants) {
    Row row = {variant.variant};
    const auto best = study::select_rate(variant, metric);
    for (const double rate : rates) {
      const auto* runs = at_rate(variant, rate);
      if (runs == nullptr) {
        row.emplace_back();
      } else if (runs->finished() == 0) {
        row.emplace_back("-");
      } else {
        const double score = study::mean_score(*runs, metric);
        std::string text = std::isfinite(score) ? metric_number(metric, score)
                                                : fmt::format("diverged {}/{}", runs->diverged(), runs->runs.size());
        if (best && best->lr == rate && std::isfinite(best->score)) text += " *";
        row.push_back(std::move(text));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
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

// ---- Learning rates, one seed, beside the paper's.

/// How a run departs from the paper's preset, other than by its rate and seed; "" when it does not.
std::string departure(const StudyRun& run, const std::filesystem::path& place) {
  try {
    const auto config = train::read_config(place / "config.toml");
    auto preset = train::resolve({.task = run.task, .preset = run.preset, .optimizer = run.optimizer});
    preset.seed = config.seed;
    preset.optimizer.seed = config.optimizer.seed;
    preset.optimizer.group.lr = config.optimizer.group.lr;
    preset.threads = config.threads;
    return train::difference(preset, config);
  } catch (const std::exception& error) {
    return error.what();
  }
}

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
        row[4] = run.done() ? fmt::format("{:+.{}f}", difference, study::larger_is_better(metric) ? 2 : 4) : "-";
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

void add_rate_search(const Section& section, Document& document) {
  const auto seed = seeds_of(section.runs).front();
  std::vector<const StudyRun*> runs;
  for (const auto* run : section.runs) {
    if (run->seed == seed) runs.push_back(run);
  }
  const auto variants = study::group_runs(runs);
  const bool searched =
      std::any_of(variants.begin(), variants.end(), [](const auto& variant) { return variant.rates.size() > 1; });
  if (!searched) return;
  const auto& metric = section.runs.front()->metric;
  const auto paper = beside_paper(section, variants, metric);
  document.push_back(Heading{2, fmt::format("{}: learning rates", task_title(section))});
  document.push_back(Paragraph{
      fmt::format("{} with seed {}: mean ± 2 std over the last {} evaluations.", metric, seed, section.window())});
  if (paper.compared > 0) {
    document.push_back(
        Paragraph{fmt::format("{} of {} cells are within the paper's value ± max(2 x its 2 std, {}).", paper.within,
                              paper.compared, study::larger_is_better(metric) ? "0.5 points" : "2.5 % of the value")});
  }
  document.push_back(paper.table);
  if (!paper.departures.empty()) {
    document.push_back(Paragraph{
        fmt::format("Some runs are not beside the paper because they depart from its preset (there: the preset, here: "
                    "the run): {}.",
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
}

// ---- Optimizers over seeds.

std::vector<study::SeedValue> values_of(const RateRuns& runs, const std::string& metric) {
  std::vector<study::SeedValue> values;
  for (const auto* run : runs.runs) {
    if (run->finished()) values.push_back({run->seed, run->mean(metric)});
  }
  return values;
}

std::string interval_text(const std::string& metric, const study::PairedDifference& difference) {
  if (!std::isfinite(difference.low)) return "-";
  const int digits = study::larger_is_better(metric) ? 2 : 4;
  return fmt::format("{:+.{}f} to {:+.{}f}", difference.low, digits, difference.high, digits);
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

/// A variant at the rate that was picked for it.
struct Picked {
  const VariantRuns* variant = nullptr;
  const RateRuns* runs = nullptr;
  study::Selection selection;
};

const Picked* find_picked(const std::vector<Picked>& picked, const std::function<bool(const VariantRuns&)>& wanted) {
  const auto found =
      std::find_if(picked.begin(), picked.end(), [&](const auto& entry) { return wanted(*entry.variant); });
  return found != picked.end() ? &*found : nullptr;
}

Table table_of_seeds(const Section& section, const std::vector<Picked>& picked, const Picked& baseline,
                     const std::string& metric) {
  const auto seeds = seeds_of(section.runs);
  Table table{{}, {"verdict", "diverged runs"}};
  auto& header = table.rows.emplace_back(Row{"optimizer", "rate"});
  for (const auto seed : seeds) header.push_back(fmt::format("seed {}", seed));
  for (const auto* text : {"mean ± std", "difference", "95 % interval", "verdict", "diverged runs"}) {
    header.emplace_back(text);
  }
  const auto base = values_of(*baseline.runs, metric);
  for (const auto& [variant, runs, selection] : picked) {
    Row row = {variant->variant, rate_text(selection.lr)};
    std::vector<double> values;
    for (const auto seed : seeds) {
      const auto run = std::find_if(runs->runs.begin(), runs->runs.end(),
                                    [seed](const auto* candidate) { return candidate->seed == seed; });
      const bool finished = run != runs->runs.end() && (*run)->finished();
      if (finished) values.push_back((*run)->mean(metric));
      row.push_back(finished                  ? metric_number(metric, values.back())
                    : run == runs->runs.end() ? "-"
                                              : std::string(study::status_text(**run)));
    }
    const auto spread = study::spread(values);
    row.push_back(with_spread(metric, spread.mean, spread.std));
    if (variant == baseline.variant) {
      row.insert(row.end(), {"", "", "the baseline"});
    } else {
      const auto difference = study::paired_difference(values_of(*runs, metric), base);
      const int digits = study::larger_is_better(metric) ? 2 : 4;
      row.push_back(std::isfinite(difference.mean) ? fmt::format("{:+.{}f}", difference.mean, digits) : "-");
      row.push_back(interval_text(metric, difference));
      row.push_back(study::verdict_text(metric, difference, baseline.variant->variant));
    }
    row.push_back(diverged_text(*variant));
    table.rows.push_back(std::move(row));
  }
  return table;
}

double mean_number(const RateRuns& runs, const std::function<double(const StudyRun&)>& number) {
  double sum = 0.0;
  double count = 0.0;
  for (const auto* run : runs.runs) {
    const double value = number(*run);
    if (!std::isfinite(value)) continue;
    sum += value;
    count += 1.0;
  }
  return sum / count;
}

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "-";
}

double fastest_step(const RateRuns& runs) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto* run : runs.runs) {
    const double seconds = study::step_seconds(*run);
    if (seconds < fastest) fastest = seconds;
  }
  return fastest;
}

std::string count_text(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : "-"; }

Table table_of_costs(const std::vector<Picked>& picked, const Picked& baseline) {
  Table table{{{"optimizer", "rate", "step time", "forward", "backward", "peak memory", "largest gradient",
                "steps above 10", "eps dominates"}}};
  const double base = fastest_step(*baseline.runs);
  for (const auto& [variant, runs, selection] : picked) {
    double largest = 0.0;
    for (const auto* run : runs->runs) largest = std::max(largest, run->largest_gradient);
    const auto of_result = [&, r = runs](const char* key) {
      return mean_number(*r, [key](const StudyRun& run) { return run.number(key); });
    };
    const double dominated = mean_number(*runs, [](const StudyRun& run) { return run.eps_dominated; });
    table.rows.push_back(
        {variant->variant, rate_text(selection.lr), number_text(fastest_step(*runs) / base, 3),
         count_text(of_result("forward_passes")), count_text(of_result("backward_passes")),
         number_text(of_result("peak_memory_bytes") / 1e6, 3) + " MB",
         number_text(largest > 0.0 ? largest : std::nan(""), 3),
         number_text(mean_number(*runs, [](const StudyRun& run) { return static_cast<double>(run.spike_steps); }), 4),
         std::isfinite(dominated) ? fmt::format("{:.1f} %", 100.0 * dominated) : "-"});
  }
  return table;
}

// Where plain momentum does as well, the curvature did not matter.
std::vector<std::string> control_sentences(const std::vector<Picked>& picked, const std::string& metric) {
  const auto* control = find_picked(picked, [](const auto& variant) { return variant.variant == kControl; });
  if (control == nullptr) {
    control = find_picked(picked, [](const auto& variant) { return variant.optimizer == "sgd"; });
  }
  if (control == nullptr) return {};
  std::vector<std::string> sentences;
  for (const auto& [variant, runs, selection] : picked) {
    if (!variant->optimizer.starts_with("lehi")) continue;
    const auto difference = study::paired_difference(values_of(*runs, metric), values_of(*control->runs, metric));
    std::string text =
        fmt::format("{}: {}", variant->variant, study::verdict_text(metric, difference, control->variant->variant));
    const auto verdict = study::verdict(metric, difference);
    if (verdict == study::Verdict::unclear || verdict == study::Verdict::worse) {
      text += "; plain momentum does as well here, so the curvature did not matter";
    }
    sentences.push_back(text + ".");
  }
  return sentences;
}

void add_seeds(const Section& section, Document& document) {
  if (seeds_of(section.runs).size() < 2) return;
  const auto variants = study::group_runs(section.runs);
  const auto chosen_by = study::selection_metric(section.runs);
  const auto metric = study::reported_metric(section.runs);
  std::vector<Picked> picked;
  for (const auto& variant : variants) {
    const auto selection = study::select_rate(variant, chosen_by);
    if (selection) picked.push_back({&variant, &variant.rates[selection->index], *selection});
  }
  document.push_back(Heading{2, fmt::format("{}: optimizers over seeds", task_title(section))});
  if (picked.empty()) {
    document.push_back(Paragraph{"No run has finished yet."});
    return;
  }
  const bool searched =
      std::any_of(variants.begin(), variants.end(), [](const auto& variant) { return variant.rates.size() > 1; });
  if (searched) {
    document.push_back(Paragraph{fmt::format(
        "Rates picked by {}: the mean over seeds of the score ({} over the last {} evaluations){}. A seed that "
        "diverged "
        "counts as worst. The best rate of each optimizer has a star.",
        chosen_by, score_formula(chosen_by), section.window(),
        chosen_by.starts_with("validation_")
            ? ", on rows held out from training"
            : ", on the test rows themselves, since nothing was held out: the differences below flatter the winners")});
    document.push_back(scores_by_rate(variants, chosen_by));
    if (const auto warnings = edge_warnings(variants, chosen_by); !warnings.empty()) {
      document.push_back(List{warnings});
    }
  }
  const auto* adam = find_picked(picked, [](const auto& variant) { return variant.variant == "adam"; });
  const Picked& baseline = adam != nullptr ? *adam : picked.front();
  document.push_back(
      Paragraph{fmt::format("{} at {}: mean over the last {} evaluations of each seed, mean ± std over seeds, and the "
                            "paired difference to {} "
                            "with its 95 % interval (Student's t; {} is better).",
                            metric, searched ? "the picked rates" : "each optimizer's own rate", section.window(),
                            baseline.variant->variant, study::larger_is_better(metric) ? "more" : "less")});
  document.push_back(table_of_seeds(section, picked, baseline, metric));
  if (const auto sentences = control_sentences(picked, metric); !sentences.empty()) {
    document.push_back(Paragraph{"Against the control, momentum without curvature:"});
    document.push_back(List{sentences});
  }
  document.push_back(Paragraph{fmt::format(
      "Cost and stability of the same runs: time of a step (fastest average over ten) relative to {}, passes of a "
      "run, largest entry of a gradient, mean number of steps where that is above 10, and the fraction of weights "
      "whose scale eps decides.",
      baseline.variant->variant)});
  document.push_back(table_of_costs(picked, baseline));
}

void add_failures(const Section& section, Document& document) {
  std::vector<std::string> lines = section.notices;
  std::size_t unfinished = 0;
  for (const auto* run : section.runs) {
    if (run->status == train::RunStatus::failed) {
      lines.push_back(fmt::format("{} failed: {}", run->directory, run->message));
    } else if (!run->finished()) {
      ++unfinished;
    }
  }
  if (unfinished > 0) lines.push_back(fmt::format("{} runs have not finished.", unfinished));
  if (!lines.empty()) document.push_back(List{lines});
}

}  // namespace

Document study_report(const std::vector<NamedStudy>& studies, const ReportRequest& request) {
  Document document;
  document.push_back(Heading{1, request.title});
  document.push_back(
      Paragraph{fmt::format("Written by lehi {} from the runs themselves; the commands that made it:", LEHI_VERSION)});
  Commands commands;
  for (const auto& [directory, study] : studies) commands.lines.push_back(shell_line(study.command_line));
  commands.lines.push_back(shell_line(request.command_line));
  document.push_back(commands);
  for (const auto& section : sections_of(studies)) {
    const auto before = document.size();
    if (!section.held_out) add_rate_search(section, document);
    add_seeds(section, document);
    if (document.size() == before) {  // one seed, one rate: nothing to compare over
      document.push_back(Heading{2, task_title(section)});
      document.push_back(Paragraph{fmt::format("{} over the last {} evaluations, one seed: a trial, no comparison.",
                                               section.runs.front()->metric, section.window())});
      document.push_back(scores_by_rate(study::group_runs(section.runs), section.runs.front()->metric));
    }
    add_failures(section, document);
  }
  return document;
}

Document score_tables(const study::Study& study, std::vector<std::string>& warnings) {
  Document document;
  std::vector<std::string> tasks;
  for (const auto& run : study.runs) {
    if (std::find(tasks.begin(), tasks.end(), run.task) == tasks.end()) tasks.push_back(run.task);
  }
  for (const auto& task : tasks) {
    std::vector<const StudyRun*> runs;
    for (const auto& run : study.runs) {
      if (run.task == task) runs.push_back(&run);
    }
    const auto metric = study::selection_metric(runs);
    const auto variants = study::group_runs(runs);
    const auto seeds = seeds_of(runs).size();
    document.push_back(Paragraph{fmt::format(
        "{}: score of {} ({} over the last {} evaluations), {} seed{}; * best rate", study::short_task(task), metric,
        score_formula(metric), runs.front()->window, seeds, seeds == 1 ? "" : "s")});
    document.push_back(scores_by_rate(variants, metric));
    for (auto& warning : edge_warnings(variants, metric)) warnings.push_back(std::move(warning));
  }
  return document;
}

}  // namespace lehi::report
