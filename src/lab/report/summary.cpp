#include "report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "report/format.h"

namespace lehi::report {
namespace {

// The optimizer with the best mean over seeds; null if each one diverged with some seed.
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
  if (best == nullptr) return {"Every optimizer diverged with at least one seed."};
  const auto& metric = analysis.metric;
  const auto spread = spread_of(*best->runs, metric);
  std::vector<std::string> sentences = {fmt::format(
      "Best {}: {} at rate {} with {} over {}.", metric, best->variant->variant, rate_text(best->selection.lr),
      with_spread(metric, spread.mean, spread.std),
      spread.count == 1 ? "1 seed, which is too few for a comparison" : fmt::format("{} seeds", spread.count))};
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
  const auto add = [&](study::Verdict verdict, const std::string& introduction) {
    if (const auto found = names.find(verdict); found != names.end()) {
      sentences.push_back(fmt::format("{}: {}.", introduction, fmt::join(found->second, ", ")));
    }
  };
  const auto& name = baseline.variant->variant;
  add(study::Verdict::better, fmt::format("Better than {} (difference, 95 % interval)", name));
  add(study::Verdict::worse, fmt::format("Worse than {}", name));
  add(study::Verdict::unclear, fmt::format("No clear difference from {} with {} seeds", name, base.size()));
  return sentences;
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
      sentences.push_back(fmt::format("Not clearly better than {}, so curvature shows no benefit here: {}.", name,
                                      fmt::join(others, ", ")));
    }
  }
  return sentences;
}

}  // namespace lehi::report
