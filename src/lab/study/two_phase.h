// The second phase of the paper's protocol: the best rates of each optimizer with the first seed are run with the other
// seeds. The choice depends only on the results of the first phase, so a study may be stopped at any time.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

struct SecondPhaseChoice {
  std::vector<PlannedRun> runs;      ///< a subset of the candidates, in their order; without runs that the study has
  std::vector<std::string> notices;  ///< sentences about optimizers that wait for failed runs
};

/// Chooses the second-phase runs of every optimizer whose first-phase runs have all finished and which has none yet.
/// Rates are ranked by selection_metric() of the task's first phase; a rate that diverged is never chosen.
SecondPhaseChoice choose_second_phase(const Study& study, const std::vector<PlannedRun>& candidates);

/// Adds the chosen runs as waiting runs; keeps the second phase in the order of `candidates`.
void add_second_phase(Study& study, const std::vector<PlannedRun>& chosen, const std::vector<PlannedRun>& candidates);

/// As many waiting runs as the second phase will probably add, at arbitrary rates; for estimates of the time left.
std::vector<StudyRun> expected_second_phase(const Study& study, const std::vector<PlannedRun>& candidates);

}  // namespace lehi::study
