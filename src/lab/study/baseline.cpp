#include "study/baseline.h"

#include <cmath>
#include <map>

#include "study/json.h"
#include "study/run_directory.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace {

using nlohmann::json;

std::vector<json> metrics_of(const StudyRun& run, const std::filesystem::path& directory) {
  try {
    return train::read_metrics(run_file(run, directory, "metrics.jsonl"));
  } catch (const std::exception&) {
    return {};  // the table shows "-", the run's status the reason
  }
}

}  // namespace

std::optional<Effort> effort_to_reach(const std::vector<json>& lines, const std::string& metric, double target) {
  for (const json& line : lines) {
    const double value = number_or_nan(line, metric.c_str());
    if (!std::isfinite(value) || better(metric, target, value)) continue;
    return Effort{number_or_nan(line, "seconds"), number_or_nan(line, "forward_passes"),
                  number_or_nan(line, "backward_passes")};
  }
  return {};
}

Reached reach_baseline(const RateRuns& runs, const RateRuns& baseline, const std::string& metric,
                       const std::function<std::filesystem::path(const StudyRun&)>& directory_of) {
  std::map<std::uint64_t, double> targets;  // the baseline's result by seed
  for (const auto* run : baseline.runs) {
    if (const double mean = run->mean(metric); std::isfinite(mean)) targets[run->seed] = mean;
  }
  Reached result;
  std::vector<double> seconds, forward, backward;
  for (const auto* run : runs.runs) {
    const auto target = targets.find(run->seed);
    if (!run->finished() || target == targets.end()) continue;
    ++result.seeds;
    const auto effort = effort_to_reach(metrics_of(*run, directory_of(*run)), metric, target->second);
    if (!effort) continue;
    ++result.reached;
    seconds.push_back(effort->seconds);
    forward.push_back(effort->forward_passes);
    backward.push_back(effort->backward_passes);
  }
  result.effort = {mean_of(seconds), mean_of(forward), mean_of(backward)};
  return result;
}

}  // namespace lehi::study
