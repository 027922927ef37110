#include "study/runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <ostream>
#include <set>
#include <thread>

#include "runtime/message.h"
#include "runtime/signals.h"
#include "study/opening.h"
#include "study/process.h"
#include "study/progress.h"
#include "study/two_phase.h"
#include "train/files.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using train::FileError;
using train::RunStatus;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string outcome_text(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("was ended by signal {} (SIG{})", WTERMSIG(status), name == nullptr ? "?" : name);
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

class Runner {
 public:
  Runner(const RunnerRequest& request, Study study, std::vector<PlannedRun> candidates, const StudyLock& lock,
         const runtime::SignalWatch& signals, std::ostream& err)
      : request_(request),
        signals_(signals),
        lock_(lock),
        study_(std::move(study)),
        candidates_(std::move(candidates)),
        progress_(err, Progress::style_for(request.terminal), request.jobs, study_.runs,
                  expected_second_phase(study_, candidates_)) {}

  StudyOutcome run() {
    for (std::size_t i = 0; i < study_.runs.size(); ++i) {
      const auto& run = study_.runs[i];
      if (!run.finished() && (run.status != RunStatus::failed || request_.retry_failed)) waiting_.push_back(i);
    }
    run_waiting();
    auto second = choose_second_phase(study_, candidates_);
    if (stop_ == 0 && !second.runs.empty()) {
      begin_second_phase(second.runs);
      run_waiting();
      second.runs.clear();
    }
    progress_.clear();
    for (const auto& notice : second.notices) progress_.say(notice);
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
  struct Running {
    std::size_t run;
    Child child;
    std::string complaint;  ///< the last line on its standard error
  };

  void run_waiting() {
    std::reverse(waiting_.begin(), waiting_.end());
    if (!waiting_.empty()) study_.finished.clear();
    while (!running_.empty() || (!waiting_.empty() && stop_ == 0)) {
      if (stop_ == 0) start_some();
      wait_for_output();
      look_after_children();
      pass_signal_on();
      progress_.tick(now());
    }
  }

  // In study.json first, as a study's beginning is: from then on it is what a resumed study goes on with.
  void begin_second_phase(const std::vector<PlannedRun>& chosen) {
    add_second_phase(study_, chosen, candidates_);
    check_run_directories(request_.directory, study_);
    study_.finished.clear();
    write_beginning(chosen, request_.directory, study_);
    std::set<std::string> added;
    for (const auto& run : chosen) added.insert(run.directory);
    for (std::size_t i = 0; i < study_.runs.size(); ++i) {
      if (added.count(study_.runs[i].directory) != 0) waiting_.push_back(i);
    }
    progress_.replace(study_.runs, {});
    progress_.say(
        fmt::format("second phase: {} runs, the best rates of each optimizer with the other seeds", chosen.size()));
  }

  void start_some() {
    bool started = false;
    while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(request_.jobs)) {
      const auto i = waiting_.back();
      waiting_.pop_back();
      running_.push_back({i, Child(request_.program, arguments_of(study_.runs[i]), lock_.descriptor()), ""});
      study_.runs[i].status = RunStatus::running;
      study_.runs[i].message.clear();
      progress_.started(i, now());
      started = true;
    }
    if (started) write_study(request_.directory, study_);
  }

  std::vector<std::string> arguments_of(const StudyRun& run) const {
    auto directory = (request_.directory / run.directory).string();
    if (directory.starts_with('-')) directory.insert(0, "./");  // or it would be taken for an option
    auto arguments = request_.program_arguments;
    arguments.insert(arguments.end(), {"train", "--resume", "--out", directory, "--progress", "lines"});
    if (!request_.data_dir.empty()) arguments.insert(arguments.end(), {"--data-dir", request_.data_dir});
    return arguments;
  }

  void wait_for_output() {
    std::vector<pollfd> descriptors;
    for (const auto& entry : running_) {
      for (const int descriptor : {entry.child.out(), entry.child.err()}) {
        if (descriptor >= 0) descriptors.push_back({descriptor, POLLIN, 0});
      }
    }
    // A signal may be handled on any thread and a child may end without a word, so the wait is short.
    constexpr int milliseconds = 100;
    if (descriptors.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 4));
    } else {
      ::poll(descriptors.data(), descriptors.size(), milliseconds);
    }
  }

  void look_after_children() {
    for (auto entry = running_.begin(); entry != running_.end();) {
      const auto status = entry->child.ended();  // before the last reading, which then gets all of its output
      entry->child.read(
          [&](std::string_view line) {
            if (const auto report = parse_report(line)) progress_.reported(entry->run, *report, now());
          },
          [&](std::string_view line) {
            constexpr std::string_view own_name = "lehi: ";
            if (line.starts_with(own_name)) line.remove_prefix(own_name.size());
            if (line.find_first_not_of(" \t\r") != std::string_view::npos) entry->complaint = line;
          });
      if (status) settle(*entry, *status);
      entry = status ? running_.erase(entry) : std::next(entry);
    }
  }

  // A run is what its directory says, unless it died before it could say so.
  void settle(const Running& entry, int status) {
    auto& run = study_.runs[entry.run];
    read_run(run, request_.directory);
    const bool says_how = run.finished() || run.status == RunStatus::interrupted || run.status == RunStatus::failed;
    if (!says_how) run.status = stop_ != 0 ? RunStatus::interrupted : RunStatus::failed;
    if (run.status == RunStatus::failed && run.message.empty()) {
      run.message = fmt::format("{}{}{}", outcome_text(status), entry.complaint.empty() ? "" : ": ", entry.complaint);
    }
    if (!run.finished() && stop_ == 0) {
      const int code = WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
      failed_code_ = failed_code_ == 0 || failed_code_ == code ? code : 1;
    }
    write_study(request_.directory, study_);
    progress_.ended(entry.run, run, now());
  }

  void pass_signal_on() {
    if (stop_ != 0 || signals_.received() == 0) return;
    stop_ = signals_.received();
    progress_.say(fmt::format("stopping: {} run{} end the step and save; another signal stops at once", running_.size(),
                              running_.size() == 1 ? "" : "s"));
    for (const auto& entry : running_) entry.child.send(stop_);
  }

  const RunnerRequest& request_;
  const runtime::SignalWatch& signals_;
  const StudyLock& lock_;
  Study study_;
  const std::vector<PlannedRun> candidates_;  ///< for the second phase
  Progress progress_;
  std::vector<std::size_t> waiting_;  ///< the next one last
  std::list<Running> running_;
  int stop_ = 0;
  int failed_code_ = 0;
};

}  // namespace

StudyOutcome run_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request, std::ostream& err) {
  if (request.jobs < 1) refuse("jobs is {}, but at least 1 run must run at once", request.jobs);
  const auto before = find_study(plan, request);
  if (!before || before->finished.empty() || request.retry_failed) request.check();
  const runtime::SignalWatch signals;
  const bool created = !fs::exists(request.directory);
  train::make_directories(request.directory);
  const StudyLock lock(request.directory);
  auto study = find_study(plan, request);  // again: another study may just have ended here
  const bool fresh = !study;
  if (fresh) {
    study = new_study(request.kind, request.command_line, plan);
    study->seconds = request.seconds;
  }
  check_run_directories(request.directory, *study);
  train::remove_leftovers(request.directory);
  auto candidates = second_phase_candidates(plan, request.seconds);
  const auto so_far = whole_plan(plan, *study, candidates);
  read_runs(request.directory, *study);
  try {
    write_beginning(so_far, request.directory, *study);
  } catch (const FileError&) {
    if (fresh) take_back(so_far, request.directory, created);
    throw;
  }
  return Runner(request, std::move(*study), std::move(candidates), lock, signals, err).run();
}

}  // namespace lehi::study
