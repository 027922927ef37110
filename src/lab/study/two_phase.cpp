#include "study/two_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/names.h"
#include "study/selection.h"

namespace lehi::study {
namespace {

using TaskAndVariant = std::pair<std::string, std::string>;

std::vector<const StudyRun*> runs_of_phase(const Study& study, int phase, const std::string& task) {
  std::vector<const StudyRun*> runs;
  for (const auto& run : study.runs) {
    if (run.phase == phase && run.task == task) runs.push_back(&run);
  }
  return runs;
}

std::size_t count_failed(const VariantRuns& variant) {
  std::size_t failed = 0;
  for (const auto* run : variant.all()) failed += run->status == train::RunStatus::failed ? 1U : 0U;
  return failed;
}

/// The optimizers of a task that have second-phase runs already.
std::set<std::string> variants_with_second_phase(const Study& study, const std::string& task) {
  std::set<std::string> variants;
  for (const auto* run : runs_of_phase(study, 2, task)) variants.insert(run->variant);
  return variants;
}

}  // namespace

SecondPhaseChoice choose_second_phase(const Study& study, const std::vector<PlannedRun>& candidates) {
  SecondPhaseChoice choice;
  std::map<TaskAndVariant, std::vector<double>> chosen;
  for (const auto& second : study.second_phases) {
    const auto first_phase = runs_of_phase(study, 1, second.task);
    const auto chosen_before = variants_with_second_phase(study, second.task);
    const auto metric = selection_metric(first_phase);
    for (const auto& variant : group_runs(first_phase)) {
      if (chosen_before.count(variant.variant) != 0) continue;
      if (const auto failed = count_failed(variant); failed > 0) {
        choice.notices.push_back(fmt::format("the second phase of {} on {} waits for {} run{} that failed",
                                             variant.variant, base::short_task(variant.task), failed,
                                             failed == 1 ? "" : "s"));
        continue;
      }
      const auto all = variant.all();
      if (!std::all_of(all.begin(), all.end(), [](const auto* run) { return run->finished(); })) continue;
      chosen[{variant.task, variant.variant}] = best_rates(variant, metric, second.best);
    }
  }
  for (const auto& candidate : candidates) {
    const auto rates = chosen.find({candidate.config.task, candidate.variant});
    if (rates == chosen.end()) continue;
    const double lr = candidate.config.optimizer.group.lr;
    if (std::find(rates->second.begin(), rates->second.end(), lr) != rates->second.end()) {
      choice.runs.push_back(candidate);
    }
  }
  return choice;
}

void add_second_phase(Study& study, const std::vector<PlannedRun>& chosen, const std::vector<PlannedRun>& candidates) {
  std::map<std::string, StudyRun> second;
  for (auto& run : study.runs) {
    if (run.phase == 2) second[run.directory] = run;
  }
  for (const auto& planned : chosen) {
    auto& run = second[planned.directory] = waiting_run(planned);
    run.phase = 2;
  }
  std::erase_if(study.runs, [](const auto& run) { return run.phase == 2; });
  for (const auto& candidate : candidates) {
    const auto found = second.find(candidate.directory);
    if (found != second.end()) study.runs.push_back(std::move(found->second));
  }
}

std::vector<StudyRun> expected_second_phase(const Study& study, const std::vector<PlannedRun>& candidates) {
  std::vector<StudyRun> expected;
  for (const auto& second : study.second_phases) {
    const auto chosen_before = variants_with_second_phase(study, second.task);
    // Counts the first `best` rates of each optimizer and seed.
    std::map<std::pair<std::string, std::uint64_t>, std::size_t> counts;
    for (const auto& candidate : candidates) {
      if (candidate.config.task != second.task || chosen_before.count(candidate.variant) != 0) continue;
      if (counts[{candidate.variant, candidate.config.seed}]++ >= second.best) continue;
      expected.push_back(waiting_run(candidate));
    }
  }
  return expected;
}

}  // namespace lehi::study
