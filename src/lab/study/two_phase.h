// The second phase of the paper's protocol: the best rates of each optimizer, by the first seed, get the other seeds.
// Which runs those are is a function of the first phase's results alone, so it does not matter when a study was
// stopped.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

struct SecondPhaseChoice {
  std::vector<PlannedRun> runs;      ///< of `candidates`, in their order; those that the study has already left out
  std::vector<std::string> notices;  ///< sentences: which optimizers have to wait for runs that failed
};

/// What the second phase adds to a study, of an optimizer whose first-phase runs have all finished. One that has
/// second- phase runs keeps just those. Rates are ranked by selection_metric() of the task's first phase; a rate that
/// diverged is never among the best.
SecondPhaseChoice choose_second_phase(const Study& study, const std::vector<PlannedRun>& candidates);

/// Adds the chosen runs, which wait; the second phase's runs then stand in the order of `candidates`.
void add_second_phase(Study& study, const std::vector<PlannedRun>& chosen, const std::vector<PlannedRun>& candidates);

/// The runs that the second phase will probably add, as waiting runs at any of the rates: for estimates of time.
std::vector<StudyRun> expected_second_phase(const Study& study, const std::vector<PlannedRun>& candidates);

}  // namespace lehi::study
