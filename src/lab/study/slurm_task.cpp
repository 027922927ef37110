#include "study/slurm_task.h"

#include <fmt/format.h>

#include <cmath>

#include "study/json.h"
#include "study/run_processes.h"
#include "train/config.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace fs = std::filesystem;

std::optional<ProgressLine> read_progress(const fs::path& run_directory) {
  try {
    const auto lines = train::read_metrics(run_directory / "metrics.jsonl");
    if (lines.empty()) return {};
    const auto config = train::read_config(run_directory / "config.toml");
    const double step = number_or_nan(lines.back(), "step");
    const double epoch = number_or_nan(lines.back(), "epoch");
    const double total = config.steps > 0 ? static_cast<double>(config.steps)
                                          : std::round(static_cast<double>(config.epochs) * step / epoch);
    if (!(total >= 1.0) || !(step >= 0.0)) return {};
    return ProgressLine{.step = static_cast<std::int64_t>(step),
                        .total = static_cast<std::int64_t>(total),
                        .epoch = static_cast<std::int64_t>(epoch),
                        .train_loss = number_or_nan(lines.back(), "train_loss")};
  } catch (const std::exception&) {  // a file that is missing or not completely written yet
    return {};
  }
}

RunEnd describe_end(const fs::path& study_directory, const SlurmArray& array, std::size_t task, const SlurmEnd& slurm) {
  const auto name = fmt::format("{}_{}", array.job, task);
  if (slurm.state.empty()) {
    return {.message = fmt::format("Slurm no longer knows its task {}, which did not record how it ended", name)};
  }
  if (slurm.code == kNoStudyDirectory) {
    return {.code = slurm.code,
            .message = fmt::format("its node has no {}; the study's directory must be on a file system that all nodes "
                                   "share",
                                   fs::absolute(study_directory / array.runs[task]).string())};
  }
  const bool exited = slurm.state == "COMPLETED" || (slurm.state == "FAILED" && (slurm.code != 0 || slurm.signal != 0));
  if (exited) {
    return {.code = slurm.signal == 0 ? slurm.code : 1,
            .message = outcome_text(slurm.code, slurm.signal, last_log_line(study_directory, array, task))};
  }
  const bool has_reason = !slurm.reason.empty() && slurm.reason != "None";
  return {.message = fmt::format("Slurm ended its task {}: {}{}{}{}", name, slurm.state, has_reason ? " (" : "",
                                 has_reason ? slurm.reason : "", has_reason ? ")" : ""),
          .forced = true};
}

}  // namespace lehi::study
