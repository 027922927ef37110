// The runs of one arm in one phase of a contest: what can be read from them.
#pragma once

#include <string>
#include <vector>

#include "study/statistics.h"
#include "study/study.h"

namespace lehi::contest {

/// For each of the arm's entries the runs with the phase's seeds.
using EntryRuns = std::vector<std::vector<study::StudyRun>>;

bool all_finished(const EntryRuns& entries);

/// A sentence on the first run that failed; "" without one.
std::string first_failure(const EntryRuns& entries);

/// Of training alone: batches and steps, without evaluation. NaN if the run did not record it.
double seconds_per_step(const study::StudyRun& run);

/// Over the seeds; NaN if a run diverged.
double mean_of_runs(const std::vector<study::StudyRun>& runs, const std::string& metric);

std::vector<study::SeedValue> seed_values(const std::vector<study::StudyRun>& runs, const std::string& metric);

}  // namespace lehi::contest
