#include "study/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "files/files.h"
#include "study/run_directory.h"
#include "study/running_arrays.h"
#include "study/slurm_task.h"

namespace lehi::study {
namespace {

constexpr double kFileSystemLag = 30.0;  // seconds until files of another node are visible here, at most
constexpr int kDivergedCode = 4;         // exit code of `lehi train`

}  // namespace

SlurmLauncher::SlurmLauncher(const RunnerRequest& request) : request_(request) {
  for (auto& [array, tasks] : find_running_arrays(request.directory)) {
    auto& entry = found_.emplace_back();
    for (const auto& [index, task] : tasks) entry.tasks[index].run = array.runs[index];
    entry.files = std::move(array);
  }
}

void SlurmLauncher::start(const std::vector<std::string>& runs) {
  waiting_.assign(runs.begin(), runs.end());
  for (auto& array : found_) {
    std::erase_if(array.tasks, [&](const auto& entry) { return std::erase(waiting_, entry.second.run) == 0; });
    if (array.tasks.empty()) continue;
    write_job(request_.directory, array.files);  // the job number may have been found by the array's name
    notices_.push_back(fmt::format("continues with Slurm's job {}, which still has {} run{} of this study",
                                   array.files.job, array.tasks.size(), array.tasks.size() == 1 ? "" : "s"));
    arrays_.push_back(std::move(array));
  }
  found_.clear();
  if (!waiting_.empty() && (arrays_.empty() || request_.jobs == 0)) submit();
}

// Submits as many runs as one array may have. The others wait until it has ended, so that --jobs limits the whole
// study.
void SlurmLauncher::submit() {
  const auto count = std::min(waiting_.size(), max_array_size());
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  Array array{.files = write_array(request_.directory, {waiting_.begin(), end}), .tasks = {}};
  try {
    array.files.job = submit_array(array.files.name, count, static_cast<std::size_t>(request_.jobs),
                                   request_.slurm_options, array_command(request_, array.files));
  } catch (const FileError&) {
    remove_array(request_.directory, array.files);
    throw;
  }
  write_job(request_.directory, array.files);
  for (std::size_t i = 0; i < count; ++i) array.tasks[i].run = array.files.runs[i];
  waiting_.erase(waiting_.begin(), end);
  notices_.push_back(
      fmt::format("{} run{} submitted as Slurm's job {}", count, count == 1 ? "" : "s", array.files.job));
  arrays_.push_back(std::move(array));
  changed_at_ = base::seconds_now();
}

void SlurmLauncher::poll(const LaunchEvents& events) {
  for (const auto& notice : notices_) events.notice(notice);
  notices_.clear();
  // Many studies may share one controller: ask often while something happens and rarely during a long run.
  constexpr double shortest = 0.3;
  constexpr double longest = 10.0;
  const double now = base::seconds_now();
  if (now - polled_at_ < std::clamp((now - changed_at_) / 20.0, shortest, longest)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return;
  }
  polled_at_ = now;
  try {
    poll_arrays(events);
    if (unavailable_) events.notice("Slurm answers again");
    unavailable_ = false;
  } catch (const SlurmUnavailable& failure) {
    if (!unavailable_)
      events.notice(fmt::format("{}; the runs continue, and Slurm will be asked again", failure.what()));
    unavailable_ = true;
  }
  if (arrays_.empty() && !waiting_.empty()) submit();
}

void SlurmLauncher::poll_arrays(const LaunchEvents& events) {
  for (auto array = arrays_.begin(); array != arrays_.end();) {
    poll_array(*array, events);
    if (!array->tasks.empty()) {
      ++array;
      continue;
    }
    remove_array(request_.directory, array->files);
    array = arrays_.erase(array);
  }
}

void SlurmLauncher::poll_array(Array& array, const LaunchEvents& events) {
  const auto known = query_tasks(array.files.job);
  const auto waiting = std::find_if(known.begin(), known.end(), [](const auto& entry) { return entry.second.waits(); });
  // Before the running tasks are stopped, which would let waiting ones start.
  if (stop_ != 0 && waiting != known.end() && !cancel_waiting(array.files.job)) {
    throw SlurmUnavailable(fmt::format("`scancel {}` failed", array.files.job));
  }
  report_wait_reason(waiting == known.end() ? "" : waiting->second.reason, events);
  for (auto task = array.tasks.begin(); task != array.tasks.end();) {
    const auto found = known.find(task->first);
    const bool over = poll_task(array, task->first, found == known.end() ? nullptr : &found->second, events);
    task = over ? array.tasks.erase(task) : std::next(task);
  }
}

bool SlurmLauncher::poll_task(Array& array, std::size_t index, const SlurmTask* state, const LaunchEvents& events) {
  auto& task = array.tasks.at(index);
  const bool over = state == nullptr || state->ended();
  if (!over && state->waits()) return false;
  if (over && !task.started && stop_ != 0) return true;  // cancelled before it started
  if (!task.started) {
    task.started = true;
    changed_at_ = base::seconds_now();
    events.started(task.run);
  }
  if (const auto progress = read_progress(request_.directory / task.run)) events.reported(task.run, *progress);
  if (over) return report_end(array, index, task, events);
  if (stop_ != 0 && !task.signalled) task.signalled = signal_task(array.files.job, index, stop_);
  return false;
}

bool SlurmLauncher::report_end(const Array& array, std::size_t index, Task& task, const LaunchEvents& events) {
  const auto slurm = query_end(array.files.job, index);
  const double now = base::seconds_now();
  if (!task.over_since) task.over_since = now;
  // A run that ended normally has recorded so in its directory; this machine may see the file later than Slurm's
  // report.
  const bool normal = slurm.state == "COMPLETED" || (slurm.state == "FAILED" && slurm.code == kDivergedCode);
  if (normal && now - *task.over_since < kFileSystemLag) {
    StudyRun run;
    run.directory = task.run;
    read_run(run, request_.directory);
    if (!run.status || run.status == train::RunStatus::running) return false;
  }
  changed_at_ = now;
  events.ended(task.run, describe_end(request_.directory, array.files, index, slurm));
  return true;
}

void SlurmLauncher::report_wait_reason(const std::string& reason, const LaunchEvents& events) {
  const bool usual = reason.empty() || reason == "None" || reason == "JobArrayTaskLimit" || reason == "Priority" ||
                     reason == "Resources";
  const std::string unusual = usual ? "" : reason;
  if (unusual != wait_reason_ && !unusual.empty()) {
    events.notice(fmt::format("runs wait in Slurm's queue: {}", unusual));
  }
  wait_reason_ = unusual;
}

void SlurmLauncher::stop(int signal) {
  stop_ = signal;
  waiting_.clear();
  polled_at_ = -1e9;
  changed_at_ = base::seconds_now();
}

std::size_t SlurmLauncher::running() const {
  std::size_t count = 0;
  for (const auto& array : arrays_) {
    for (const auto& [index, task] : array.tasks) count += task.started ? 1U : 0U;
  }
  return count;
}

// Without a limit: the number that runs now.
std::size_t SlurmLauncher::concurrency() const {
  return request_.jobs > 0 ? static_cast<std::size_t>(request_.jobs) : std::max<std::size_t>(running(), 1);
}

}  // namespace lehi::study
