#include "study/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lehi::study {
namespace {

template <class Value>
double mean_over_seeds(const RateRuns& runs, const std::string& metric, Value value) {
  std::vector<double> values;
  for (const auto* run : runs.runs) {
    if (run->finished()) values.push_back(value(*run));
  }
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return mean_with_worst(metric, values);
}

}  // namespace

std::size_t RateRuns::finished() const {
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const auto* run) { return run->finished(); }));
}

std::size_t RateRuns::diverged() const {
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const auto* run) { return run->diverged(); }));
}

std::vector<const StudyRun*> VariantRuns::all() const {
  std::vector<const StudyRun*> together;
  for (const auto& rate : rates) together.insert(together.end(), rate.runs.begin(), rate.runs.end());
  return together;
}

std::vector<VariantRuns> group_runs(const std::vector<const StudyRun*>& runs) {
  std::vector<VariantRuns> groups;
  for (const auto* run : runs) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& candidate) {
      return candidate.task == run->task && candidate.variant == run->variant;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), VariantRuns{run->task, run->variant, run->optimizer, {}});
    }
    auto& rates = group->rates;
    auto rate =
        std::find_if(rates.begin(), rates.end(), [&](const auto& candidate) { return candidate.lr >= run->lr; });
    if (rate == rates.end() || rate->lr != run->lr) rate = rates.insert(rate, RateRuns{run->lr, {}});
    rate->runs.push_back(run);
  }
  return groups;
}

std::vector<const StudyRun*> pointers_to(const std::vector<StudyRun>& runs) {
  std::vector<const StudyRun*> pointers;
  for (const auto& run : runs) pointers.push_back(&run);
  return pointers;
}

double mean_score(const RateRuns& runs, const std::string& metric) {
  return mean_over_seeds(runs, metric, [&](const StudyRun& run) { return run.score(metric); });
}

double mean_of_windows(const RateRuns& runs, const std::string& metric) {
  return mean_over_seeds(runs, metric, [&](const StudyRun& run) { return run.mean(metric); });
}

std::optional<Selection> select_rate(const VariantRuns& variant, const std::string& metric) {
  std::size_t most = 0;
  for (const auto& rate : variant.rates) most = std::max(most, rate.finished());
  if (most == 0) return {};
  std::optional<Selection> best;
  for (std::size_t i = 0; i < variant.rates.size(); ++i) {
    if (variant.rates[i].finished() != most) continue;
    const double score = mean_score(variant.rates[i], metric);
    if (best && !better(metric, score, best->score)) continue;
    best = Selection{.index = i, .lr = variant.rates[i].lr, .score = score};
  }
  best->at_edge = variant.rates.size() > 1 && (best->index == 0 || best->index + 1 == variant.rates.size());
  return best;
}

std::string edge_warning(const VariantRuns& variant, const Selection& selection, const std::string& metric) {
  if (!selection.at_edge) return "";
  if (!std::isfinite(selection.score)) {
    return fmt::format("{} diverged at every rate of the grid; search smaller ones", variant.variant);
  }
  const bool smallest = selection.index == 0;
  return fmt::format("{} does best ({}) at {}, the {} rate of the grid; a {} one may do better", variant.variant,
                     metric, selection.lr, smallest ? "smallest" : "largest", smallest ? "smaller" : "larger");
}

}  // namespace lehi::study
