#include "study/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include "base/clock.h"
#include "base/signals.h"
#include "files/files.h"
#include "runtime/message.h"
#include "study/local_launcher.h"
#include "study/mpi_launcher.h"
#include "study/run_directory.h"
#include "study/running_arrays.h"
#include "study/slurm_launcher.h"
#include "study/study_directory.h"
#include "study/study_file.h"
#include "study/two_phase.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using train::RunStatus;

std::unique_ptr<Launcher> make_launcher(const RunnerRequest& request, const StudyLock& lock) {
  if (request.launcher == LauncherKind::slurm) return std::make_unique<SlurmLauncher>(request);
  throw_while_slurm_runs(request.directory);
  if (request.launcher == LauncherKind::mpi) return std::make_unique<MpiLauncher>(request, lock.descriptor());
  return std::make_unique<LocalLauncher>(request, lock.descriptor());
}

class Runner {
 public:
  Runner(const RunnerRequest& request, Study study, std::vector<PlannedRun> candidates, Launcher& launcher,
         const base::SignalWatch& signals, std::ostream& err)
      : request_(request),
        signals_(signals),
        launcher_(launcher),
        study_(std::move(study)),
        candidates_(std::move(candidates)),
        progress_(err, StudyProgress::style_for(request.terminal), launcher.concurrency(), study_.runs,
                  expected_second_phase(study_, candidates_)) {}

  /// Throws when the launcher can't start any run.
  void begin() {
    start([&](const StudyRun& run) {
      return !run.finished() && (run.status != RunStatus::failed || request_.retry_failed);
    });
  }

  StudyOutcome finish() {
    wait_for_runs();
    auto second = choose_second_phase(study_, candidates_);
    if (stop_ == 0 && !second.runs.empty()) {
      begin_second_phase(second.runs);
      wait_for_runs();
      second.runs.clear();
    }
    progress_.clear();
    for (const auto& notice : second.notices) progress_.print(notice);
    const bool all_ended =
        second.runs.empty() && std::all_of(study_.runs.begin(), study_.runs.end(), [](const auto& run) {
          return run.finished() || run.status == RunStatus::failed;
        });
    if (all_ended && study_.finished.empty()) study_.finished = train::utc_now();
    write_study(request_.directory, study_);
    const bool stopped = stop_ != 0 && !all_ended;
    return {std::move(study_), stopped ? stop_ : 0, failed_code_};
  }

 private:
  template <class Choice>
  void start(const Choice& chosen) {
    std::vector<std::string> names;
    for (const auto& run : study_.runs) {
      if (chosen(run)) names.push_back(run.directory);
    }
    if (!names.empty()) study_.finished.clear();
    launcher_.start(names);
  }

  void wait_for_runs() {
    const LaunchEvents events = {
        .started = [&](const std::string& run) { record_start(index_of(run)); },
        .reported = [&](const std::string& run,
                        const ProgressLine& line) { progress_.reported(index_of(run), line, base::seconds_now()); },
        .ended = [&](const std::string& run, const RunEnd& end) { record_end(index_of(run), end); },
        .notice = [&](const std::string& sentence) { progress_.print(sentence); }};
    while (launcher_.busy()) {
      launcher_.poll(events);
      if (changed_) write_study(request_.directory, study_);
      changed_ = false;
      forward_signal();
      progress_.set_jobs(launcher_.concurrency());
      progress_.tick(base::seconds_now());
    }
  }

  // The runs are written to study.json before they start, so that a resumed study continues with the same ones.
  void begin_second_phase(const std::vector<PlannedRun>& chosen) {
    add_second_phase(study_, chosen, candidates_);
    check_run_directories(request_.directory, study_);
    study_.finished.clear();
    write_initial_files(chosen, request_.directory, study_);
    std::set<std::string> added;
    for (const auto& run : chosen) added.insert(run.directory);
    progress_.replace(study_.runs, {});
    progress_.print(
        fmt::format("second phase: {} runs, the best rates of each optimizer with the other seeds", chosen.size()));
    start([&](const StudyRun& run) { return added.count(run.directory) != 0; });
  }

  std::size_t index_of(const std::string& name) const {
    const auto found =
        std::find_if(study_.runs.begin(), study_.runs.end(), [&](const auto& run) { return run.directory == name; });
    TORCH_INTERNAL_ASSERT(found != study_.runs.end(), "a launcher reports ", name, ", which is not a run of the study");
    return static_cast<std::size_t>(found - study_.runs.begin());
  }

  void record_start(std::size_t i) {
    study_.runs[i].status = RunStatus::running;
    study_.runs[i].message.clear();
    progress_.started(i, base::seconds_now());
    changed_ = true;
  }

  // The run's own record decides, unless the process died before it could write one.
  void record_end(std::size_t i, const RunEnd& end) {
    auto& run = study_.runs[i];
    read_run(run, request_.directory);
    const bool recorded = run.finished() || run.status == RunStatus::interrupted || run.status == RunStatus::failed;
    if (!recorded) run.status = stop_ != 0 ? RunStatus::interrupted : RunStatus::failed;
    if (end.forced && !run.finished() && stop_ == 0) {
      run.status = RunStatus::failed;
      run.message = end.message;
    }
    if (run.status == RunStatus::failed && run.message.empty()) run.message = end.message;
    if (!run.finished() && stop_ == 0) {
      const int code = end.code != 0 ? end.code : 1;
      failed_code_ = failed_code_ == 0 || failed_code_ == code ? code : 1;
    }
    changed_ = true;
    progress_.ended(i, run, base::seconds_now());
  }

  void forward_signal() {
    if (stop_ != 0) return;
    stop_ = signals_.received() != 0 ? signals_.received() : launcher_.stop_request();
    if (stop_ == 0) return;
    progress_.print(
        fmt::format("stopping: {} run{} will finish the current step and save; another signal stops at once",
                    launcher_.running(), launcher_.running() == 1 ? "" : "s"));
    launcher_.stop(stop_);
  }

  const RunnerRequest& request_;
  const base::SignalWatch& signals_;
  Launcher& launcher_;
  Study study_;
  std::vector<PlannedRun> candidates_;  ///< for the second phase
  StudyProgress progress_;
  bool changed_ = false;  ///< since study.json was written
  int stop_ = 0;          ///< the signal that stops the study
  int failed_code_ = 0;
};

}  // namespace

StudyOutcome run_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request, std::ostream& err) {
  const int fewest_jobs = request.launcher == LauncherKind::slurm ? 0 : 1;
  if (request.jobs < fewest_jobs) throw_invalid_argument("jobs is {}, expected at least {}", request.jobs, fewest_jobs);
  if (request.launcher == LauncherKind::slurm) check_slurm(request.slurm_options);
  const auto before = find_study(plan, request);
  if (!before || before->finished.empty() || request.retry_failed) request.check();
  const base::SignalWatch signals;
  const bool created = !fs::exists(request.directory);
  make_directories(request.directory);
  const StudyLock lock(request.directory);
  auto study = find_study(plan, request);  // again: another process may have changed it before this one had the lock
  const bool fresh = !study;
  if (fresh) {
    study = new_study(request.kind, request.command_line, plan);
    study->second_phases = request.second_phases;
  }
  check_run_directories(request.directory, *study);
  remove_leftovers(request.directory);
  auto candidates = second_phase_candidates(plan, request.second_phases);
  const auto known_plan = with_second_phase(plan, *study, candidates);
  read_runs(request.directory, *study);
  const auto launcher = make_launcher(request, lock);
  Runner runner(request, *study, std::move(candidates), *launcher, signals, err);
  try {
    write_initial_files(known_plan, request.directory, *study);
    runner.begin();
  } catch (const FileError&) {
    if (fresh) remove_partial_runs(known_plan, request.directory, created);
    throw;
  }
  return runner.finish();
}

}  // namespace lehi::study
