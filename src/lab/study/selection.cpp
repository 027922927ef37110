#include "study/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return mean_with_worst(metric, values);
}

using Seeds = std::set<std::uint64_t>;

/// A rate that may be selected, and the seeds with which it finished.
struct Contender {
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

Seeds shared_seeds(const std::vector<Contender>& contenders) {
  auto shared = contenders.front().seeds;
  for (const auto& contender : contenders) {
    std::erase_if(shared, [&](std::uint64_t seed) { return contender.seeds.count(seed) == 0; });
  }
  return shared;
}

bool includes(const Seeds& all, const Seeds& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

double score_over(const RateRuns& rate, const Seeds& seeds, const std::string& metric, ScoreOf score_of) {
  RateRuns some{rate.lr, {}};
  for (const auto* run : rate.runs) {
    if (seeds.count(run->seed) != 0) some.runs.push_back(run);
  }
  if (score_of == ScoreOf::seeds) return mean_score(some, metric);
  const auto window = seed_averaged(some, metric);
  return window && std::isfinite(window->score) ? window->score : mean_with_worst(metric, {kNan});
}

// A seed that diverged is worse than anything that seeds which a rate was not run with could show.
template <class Score>
void keep_those_that_never_diverged(std::vector<Contender>& contenders, Score score) {
  const auto diverged = [&](const Contender& contender) { return !std::isfinite(score(contender)); };
  if (!std::all_of(contenders.begin(), contenders.end(), diverged)) std::erase_if(contenders, diverged);
}

// The first of equal ones, which has the smallest rate.
template <class Score>
Contender best_of(const std::vector<Contender>& contenders, const std::string& metric, Score score) {
  const auto best = std::min_element(contenders.begin(), contenders.end(),
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
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < variant.rates.size(); ++i) {
    auto seeds = finished_seeds(variant.rates[i]);
    if (!seeds.empty()) contenders.push_back({i, std::move(seeds)});
  }
  if (contenders.empty()) return {};
  const auto score_with = [&](const Contender& contender, const Seeds& seeds) {
    return score_over(variant.rates[contender.index], seeds, metric, score_of);
  };
  keep_those_that_never_diverged(contenders, [&](const auto& c) { return score_with(c, c.seeds); });
  for (;;) {
    const auto shared = shared_seeds(contenders);
    if (shared.empty()) break;
    std::vector<Contender> longer;
    for (const auto& contender : contenders) {
      if (contender.seeds != shared) longer.push_back(contender);
    }
    if (longer.empty()) break;
    const auto leader = best_of(longer, metric, [&](const auto& c) { return score_with(c, shared); });
    std::erase_if(contenders, [&](const auto& contender) { return !includes(contender.seeds, leader.seeds); });
  }
  if (shared_seeds(contenders).empty()) {  // nothing to compare over: those that were tried most
    std::size_t most = 0;
    for (const auto& contender : contenders) most = std::max(most, contender.seeds.size());
    std::erase_if(contenders, [most](const auto& contender) { return contender.seeds.size() != most; });
  }
  const auto best = best_of(contenders, metric, [&](const auto& c) { return score_with(c, c.seeds); });
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
    return fmt::format("{} diverged at every rate of the grid; search smaller ones", variant.variant);
  }
  const bool smallest = selection.index == 0;
  return fmt::format("{} does best ({}) at {}, the {} rate of the grid; a {} one may do better", variant.variant,
                     metric, selection.lr, smallest ? "smallest" : "largest", smallest ? "smaller" : "larger");
}

}  // namespace lehi::study
