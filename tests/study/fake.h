// Shared by the tests of this room: invented runs and records.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/names.h"
#include "files/files.h"
#include "study/run_directory.h"
#include "study/study.h"
#include "study/study_file.h"
#include "study/study_json.h"
#include "train/json_file.h"

namespace lehi::testing {

/// The runs of a study of one request.
inline std::vector<study::PlannedRun> make_plan(const study::PlanRequest& request) {
  return study::make_study_plan({request}).runs;
}

inline study::StudyRun fake_run(const std::string& variant, double lr, std::uint64_t seed, double test_loss,
                                double validation_loss = NAN) {
  study::StudyRun run;
  run.task = "protein";
  run.preset = "paper";
  run.variant = variant;
  run.optimizer = variant.substr(0, variant.find('['));
  run.lr = lr;
  run.seed = seed;
  run.metric = "test_loss";
  run.window = 10;
  run.directory = base::safe_name(variant) + "-" + std::to_string(lr) + "-" + std::to_string(seed);
  run.status = std::isfinite(test_loss) ? train::RunStatus::done : train::RunStatus::diverged;
  if (run.done()) {
    run.windows["test_loss"] = {.count = 10, .mean = test_loss, .two_std = 0.002, .score = test_loss + 0.002};
    if (std::isfinite(validation_loss)) {
      run.windows["validation_loss"] = {
          .count = 10, .mean = validation_loss, .two_std = 0.001, .score = validation_loss + 0.001};
    }
  }
  run.result = {{"steps", 100},          {"seconds", 2.0},         {"step_seconds_min", 0.015},
                {"forward_passes", 100}, {"backward_passes", 200}, {"peak_memory_bytes", 300'000'000}};
  run.largest_gradient = 0.5;
  run.eps_dominated = 0.25;
  return run;
}

/// The record of a run that has ended.
inline train::RunRecord fake_record(train::RunStatus status) {
  train::RunRecord record;
  record.status = status;
  record.task = "protein";
  record.started = "2024-05-06T07:08:09Z";
  record.finished = "2024-05-06T07:09:09Z";
  record.message = status == train::RunStatus::diverged ? "the loss is not finite" : "";
  record.result = {{"steps", 4}, {"seconds", 1.25}, {"peak_memory_bytes", 1000}, {"forward_passes", 4}};
  return record;
}

inline const char* const fake_metrics =
    R"({"step":1,"seconds":0.1,"test_loss":0.9,"grad_inf_norm":20.0,"spikes":2,"eps_dominated":0.5})"
    "\n"
    R"({"step":2,"seconds":0.2,"test_loss":0.5,"grad_inf_norm":1.0,"spikes":0,"eps_dominated":0.3})"
    "\n"
    R"({"step":4,"seconds":0.4,"test_loss":0.3,"grad_inf_norm":0.5,"spikes":0,"eps_dominated":0.1})"
    "\n";

}  // namespace lehi::testing
