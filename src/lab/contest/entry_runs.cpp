#include "contest/entry_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lehi::contest {

using study::StudyRun;

double seconds_per_step(const StudyRun& run) {
  const auto split = run.result.find("split");
  const double steps = run.number("steps");
  if (split == run.result.end() || !split->is_object() || !(steps > 0.0)) return study::kNan;
  const auto part = [&](const char* key) {
    const auto found = split->find(key);
    return found != split->end() && found->is_number() ? found->get<double>() : study::kNan;
  };
  return (part("step") + part("batch")) / steps;
}

double mean_of_runs(const std::vector<StudyRun>& runs, const std::string& metric) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const auto& run : runs) values.push_back(run.mean(metric));
  const double mean = study::mean_of(values);
  return std::isfinite(mean) ? mean : study::kNan;
}

bool all_finished(const EntryRuns& entries) {
  return std::all_of(entries.begin(), entries.end(), [](const auto& runs) {
    return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.finished(); });
  });
}

std::string first_failure(const EntryRuns& entries) {
  for (const auto& runs : entries) {
    for (const auto& run : runs) {
      if (run.status == train::RunStatus::failed)
        return fmt::format("the run {} failed: {}", run.directory, run.message);
    }
  }
  return "";
}

std::vector<study::SeedValue> seed_values(const std::vector<StudyRun>& runs, const std::string& metric) {
  std::vector<study::SeedValue> values;
  values.reserve(runs.size());
  for (const auto& run : runs) values.push_back({run.seed, run.mean(metric)});
  return values;
}

}  // namespace lehi::contest
