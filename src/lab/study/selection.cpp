#include "study/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace lehi::study {
namespace {

template <class Value>
double mean_over_seeds(const RateRuns& runs, const std::string& metric, Value value) {
  std::vector<double> values;
  for (const auto* run : runs.runs) {
    if (run->finished()) values.push_back(value(*run));
  }
  if (values.empty()) return kNan;
  return mean_with_worst(metric, values);
}

using Seeds = std::set<std::uint64_t>;

/// A rate that may be selected, and the seeds with which it finished.
struct RateCandidate {
  std::size_t index;  ///< in VariantRuns::rates
  Seeds seeds;
};

Seeds finished_seeds(const RateRuns& rate) {
  Seeds seeds;
  for (const auto* run : rate.runs) {
    if (run->finished()) seeds.insert(run->seed);
  }
  return seeds;
}

Seeds common_seeds(const std::vector<RateCandidate>& candidates) {
  auto common = candidates.front().seeds;
  for (const auto& candidate : candidates) {
    std::erase_if(common, [&](std::uint64_t seed) { return candidate.seeds.count(seed) == 0; });
  }
  return common;
}

bool includes(const Seeds& all, const Seeds& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

double score_over(const RateRuns& rate, const Seeds& seeds, const std::string& metric, ScoreOf score_of) {
  RateRuns selected{rate.lr, {}};
  for (const auto* run : rate.runs) {
    if (seeds.count(run->seed) != 0) selected.runs.push_back(run);
  }
  if (score_of == ScoreOf::seeds) return mean_score(selected, metric);
  const auto window = seed_averaged(selected, metric);
  return window && std::isfinite(window->score) ? window->score : mean_with_worst(metric, {kNan});
}

// A diverged seed outweighs anything that missing seeds of another rate could show.
template <class Score>
void remove_diverged_if_others_remain(std::vector<RateCandidate>& candidates, Score score) {
  const auto diverged = [&](const RateCandidate& candidate) { return !std::isfinite(score(candidate)); };
  if (!std::all_of(candidates.begin(), candidates.end(), diverged)) std::erase_if(candidates, diverged);
}

// The first of equal ones, which has the smallest rate.
template <class Score>
RateCandidate best_of(const std::vector<RateCandidate>& candidates, const std::string& metric, Score score) {
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [&](const auto& a, const auto& b) { return better(metric, score(a), score(b)); });
  return *best;
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
  pointers.reserve(runs.size());
  for (const auto& run : runs) pointers.push_back(&run);
  return pointers;
}

double mean_score(const RateRuns& runs, const std::string& metric) {
  return mean_over_seeds(runs, metric, [&](const StudyRun& run) { return run.score(metric); });
}

double mean_of_windows(const RateRuns& runs, const std::string& metric) {
  return mean_over_seeds(runs, metric, [&](const StudyRun& run) { return run.mean(metric); });
}

std::optional<Window> seed_averaged(const RateRuns& runs, const std::string& metric, Diverged diverged) {
  std::vector<double> sums;
  double seeds = 0.0;
  for (const auto* run : runs.runs) {
    if (!run->finished() || (run->diverged() && diverged == Diverged::dropped)) continue;
    if (run->diverged()) return Window{.mean = kNan, .two_std = kNan, .score = kNan};
    const auto window = run->windows.find(metric);
    if (window == run->windows.end()) return {};
    const auto& values = window->second.values;
    if (seeds == 0.0) sums.resize(values.size());
    if (values.empty() || values.size() != sums.size()) return {};
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    seeds += 1.0;
  }
  if (seeds == 0.0) return {};
  for (double& sum : sums) sum /= seeds;
  return window_over(metric, std::move(sums));
}

std::optional<Selection> select_rate(const VariantRuns& variant, const std::string& metric, ScoreOf score_of) {
  std::vector<RateCandidate> candidates;
  for (std::size_t i = 0; i < variant.rates.size(); ++i) {
    auto seeds = finished_seeds(variant.rates[i]);
    if (!seeds.empty()) candidates.push_back({i, std::move(seeds)});
  }
  if (candidates.empty()) return {};
  const auto score_with = [&](const RateCandidate& candidate, const Seeds& seeds) {
    return score_over(variant.rates[candidate.index], seeds, metric, score_of);
  };
  remove_diverged_if_others_remain(candidates, [&](const auto& c) { return score_with(c, c.seeds); });
  for (;;) {
    const auto common = common_seeds(candidates);
    if (common.empty()) break;
    std::vector<RateCandidate> longer;
    for (const auto& candidate : candidates) {
      if (candidate.seeds != common) longer.push_back(candidate);
    }
    if (longer.empty()) break;
    const auto leader = best_of(longer, metric, [&](const auto& c) { return score_with(c, common); });
    std::erase_if(candidates, [&](const auto& candidate) { return !includes(candidate.seeds, leader.seeds); });
  }
  if (common_seeds(candidates).empty()) {  // no common seed: compare the rates with the most seeds
    std::size_t most = 0;
    for (const auto& candidate : candidates) most = std::max(most, candidate.seeds.size());
    std::erase_if(candidates, [most](const auto& candidate) { return candidate.seeds.size() != most; });
  }
  const auto best = best_of(candidates, metric, [&](const auto& c) { return score_with(c, c.seeds); });
  Selection selection{.index = best.index, .lr = variant.rates[best.index].lr, .score = score_with(best, best.seeds)};
  if (score_of == ScoreOf::curve && !std::isfinite(selection.score)) return {};
  selection.at_edge = variant.rates.size() > 1 && (best.index == 0 || best.index + 1 == variant.rates.size());
  return selection;
}

std::vector<double> best_rates(const VariantRuns& variant, const std::string& metric, std::size_t count) {
  std::vector<std::pair<double, double>> scored;  // score and rate, rates ascending
  for (const auto& rate : variant.rates) {
    const double score = mean_score(rate, metric);
    if (std::isfinite(score)) scored.emplace_back(score, rate.lr);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [&](const auto& a, const auto& b) { return better(metric, a.first, b.first); });
  std::vector<double> rates;
  for (const auto& [score, rate] : scored) {
    if (rates.size() < count) rates.push_back(rate);
  }
  return rates;
}

std::string edge_warning(const VariantRuns& variant, const Selection& selection, const std::string& metric) {
  if (!selection.at_edge) return "";
  if (!std::isfinite(selection.score)) {
    return fmt::format("{} diverged at every rate of the grid; search smaller rates", variant.variant);
  }
  const bool smallest = selection.index == 0;
  return fmt::format("{} does best ({}) at {}, the {} rate of the grid; a {} one may do better", variant.variant,
                     metric, selection.lr, smallest ? "smallest" : "largest", smallest ? "smaller" : "larger");
}

}  // namespace lehi::study
