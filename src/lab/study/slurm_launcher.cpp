#include "study/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "files/files.h"
#include "study/json.h"
#include "study/run_processes.h"
#include "train/config.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

constexpr double kFileSystemLag = 30.0;  // seconds until a file of another node is seen, at most
constexpr int kDivergedCode = 4;         // of `lehi train`

struct Alive {
  SlurmArray array;
  SlurmTasks tasks;  ///< those that wait or run
};

/// The arrays of a study that still run; those that do not are forgotten.
std::vector<Alive> arrays_that_run(const fs::path& directory) {
  std::vector<Alive> alive;
  for (auto& array : read_arrays(directory)) {
    SlurmTasks tasks;
    try {
      if (array.job.empty()) array.job = find_array(array.name).value_or("");
      if (!array.job.empty()) tasks = ask_tasks(array.job);
    } catch (const SlurmSilence& silence) {
      throw FileError(
          fmt::format("the study in {} was submitted to Slurm, and whether its job array {} still runs can't be told: "
                      "{}; try again "
                      "where Slurm answers",
                      directory.string(), array.job.empty() ? array.name : array.job, silence.what()));
    }
    std::erase_if(tasks, [&](const auto& entry) { return entry.second.ended() || entry.first >= array.runs.size(); });
    if (tasks.empty()) {
      forget_array(directory, array);
    } else {
      alive.push_back({std::move(array), std::move(tasks)});
    }
  }
  return alive;
}

// How far a run is, from its own files; nothing before its first evaluation.
std::optional<ProgressLine> report_of(const fs::path& run_directory) {
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
  } catch (const std::exception&) {  // a file that is being written, or not there yet
    return {};
  }
}

}  // namespace

void refuse_while_slurm_runs(const fs::path& study_directory) {
  if (read_arrays(study_directory).empty()) return;
  const auto alive = arrays_that_run(study_directory);
  if (alive.empty()) return;
  const auto& first = alive.front();
  throw FileError(fmt::format(
      "Slurm's job {} still has {} run{} of the study in {}; go on with it by --launcher slurm, or `scancel {}` first",
      first.array.job, first.tasks.size(), first.tasks.size() == 1 ? "" : "s", study_directory.string(),
      first.array.job));
}

SlurmLauncher::SlurmLauncher(const RunnerRequest& request) : request_(request) {
  for (auto& [array, tasks] : arrays_that_run(request.directory)) {
    auto& entry = alive_.emplace_back();
    for (const auto& [index, task] : tasks) entry.tasks[index].run = array.runs[index];
    entry.files = std::move(array);
  }
}

void SlurmLauncher::start(const std::vector<std::string>& runs) {
  waiting_.assign(runs.begin(), runs.end());
  for (auto& array : alive_) {
    std::erase_if(array.tasks, [&](const auto& entry) { return std::erase(waiting_, entry.second.run) == 0; });
    if (array.tasks.empty()) continue;
    write_job(request_.directory, array.files);  // it may have been found by its name
    notes_.push_back(fmt::format("goes on with Slurm's job {}, which still has {} run{} of this study", array.files.job,
                                 array.tasks.size(), array.tasks.size() == 1 ? "" : "s"));
    arrays_.push_back(std::move(array));
  }
  alive_.clear();
  if (!waiting_.empty() && (arrays_.empty() || request_.jobs == 0)) submit();
}

// As many as an array may have. The others wait until it is over, so that --jobs holds for the whole study.
void SlurmLauncher::submit() {
  const auto count = std::min(waiting_.size(), largest_array());
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  Array array{.files = write_array(request_.directory, {waiting_.begin(), end}), .tasks = {}};
  try {
    array.files.job = submit_array(array.files.name, count, static_cast<std::size_t>(request_.jobs),
                                   request_.slurm_options, array_command(request_, array.files));
  } catch (const FileError&) {
    forget_array(request_.directory, array.files);
    throw;
  }
  write_job(request_.directory, array.files);
  for (std::size_t i = 0; i < count; ++i) array.tasks[i].run = array.files.runs[i];
  waiting_.erase(waiting_.begin(), end);
  notes_.push_back(fmt::format("{} run{} submitted as Slurm's job {}", count, count == 1 ? "" : "s", array.files.job));
  arrays_.push_back(std::move(array));
  changed_at_ = base::seconds_now();
}

void SlurmLauncher::look(const LaunchEvents& events) {
  for (const auto& note : notes_) events.say(note);
  notes_.clear();
  // Many studies may ask one controller: often while something happens, seldom in a long run.
  constexpr double shortest = 0.3;
  constexpr double longest = 10.0;
  const double now = base::seconds_now();
  if (now - asked_at_ < std::clamp((now - changed_at_) / 20.0, shortest, longest)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return;
  }
  asked_at_ = now;
  try {
    ask(events);
    if (!silence_.empty()) events.say("Slurm answers again");
    silence_.clear();
  } catch (const SlurmSilence& silence) {
    if (silence_.empty()) events.say(fmt::format("{}; the runs go on, and it is asked again", silence.what()));
    silence_ = silence.what();
  }
  if (arrays_.empty() && !waiting_.empty()) submit();
}

void SlurmLauncher::ask(const LaunchEvents& events) {
  for (auto array = arrays_.begin(); array != arrays_.end();) {
    look_at(*array, events);
    if (!array->tasks.empty()) {
      ++array;
      continue;
    }
    forget_array(request_.directory, array->files);
    array = arrays_.erase(array);
  }
}

void SlurmLauncher::look_at(Array& array, const LaunchEvents& events) {
  const auto known = ask_tasks(array.files.job);
  const auto waiting = std::find_if(known.begin(), known.end(), [](const auto& entry) { return entry.second.waits(); });
  // Before the running ones end, which would make room for them.
  if (stop_ != 0 && waiting != known.end() && !cancel_waiting(array.files.job)) {
    throw SlurmSilence(fmt::format("`scancel {}` did not work", array.files.job));
  }
  tell_why_it_waits(waiting == known.end() ? "" : waiting->second.reason, events);
  for (auto task = array.tasks.begin(); task != array.tasks.end();) {
    const auto found = known.find(task->first);
    const bool over = look_at(array, task->first, found == known.end() ? nullptr : &found->second, events);
    task = over ? array.tasks.erase(task) : std::next(task);
  }
}

// True when the task is over and has been told of.
bool SlurmLauncher::look_at(Array& array, std::size_t index, const SlurmTask* now, const LaunchEvents& events) {
  auto& task = array.tasks.at(index);
  const bool over = now == nullptr || now->ended();
  if (!over && now->waits()) return false;
  if (over && !task.started && stop_ != 0) return true;  // taken back before it began
  if (!task.started) {
    task.started = true;
    changed_at_ = base::seconds_now();
    events.started(task.run);
  }
  tell_progress(task.run, events);
  if (over) return end(array, index, task, events);
  if (stop_ != 0 && !task.signalled) task.signalled = signal_task(array.files.job, index, stop_);
  return false;
}

bool SlurmLauncher::end(const Array& array, std::size_t index, Task& task, const LaunchEvents& events) {
  const auto slurm = ask_end(array.files.job, index);
  const double now = base::seconds_now();
  if (!task.over_since) task.over_since = now;
  // A run that ended as it should have has said so in its directory; this host may see that later than Slurm's word.
  const bool as_it_should = slurm.state == "COMPLETED" || (slurm.state == "FAILED" && slurm.code == kDivergedCode);
  if (as_it_should && now - *task.over_since < kFileSystemLag) {
    StudyRun run;
    run.directory = task.run;
    read_run(run, request_.directory);
    if (!run.status || run.status == train::RunStatus::running) return false;
  }
  changed_at_ = now;
  events.ended(task.run, end_of(array.files, index, slurm));
  return true;
}

RunEnd SlurmLauncher::end_of(const SlurmArray& array, std::size_t index, const SlurmEnd& slurm) const {
  const auto task = fmt::format("{}_{}", array.job, index);
  if (slurm.state.empty()) {
    return {.message = fmt::format("Slurm no longer knows its task {}, which left no word of its end", task)};
  }
  if (slurm.code == kNoStudyThere) {
    return {.code = slurm.code,
            .message = fmt::format("its node saw no {}; the study's directory must be on a file system that all nodes "
                                   "share",
                                   fs::absolute(request_.directory / array.runs[index]).string())};
  }
  const bool by_itself =
      slurm.state == "COMPLETED" || (slurm.state == "FAILED" && (slurm.code != 0 || slurm.signal != 0));
  if (by_itself) {
    return {.code = slurm.signal == 0 ? slurm.code : 1,
            .message = outcome_text(slurm.code, slurm.signal, last_words(request_.directory, array, index))};
  }
  const bool has_reason = !slurm.reason.empty() && slurm.reason != "None";
  return {.message = fmt::format("Slurm ended its task {}: {}{}{}{}", task, slurm.state, has_reason ? " (" : "",
                                 has_reason ? slurm.reason : "", has_reason ? ")" : ""),
          .forced = true};
}

void SlurmLauncher::tell_progress(const std::string& run, const LaunchEvents& events) const {
  if (const auto report = report_of(request_.directory / run)) events.reported(run, *report);
}

void SlurmLauncher::tell_why_it_waits(const std::string& reason, const LaunchEvents& events) {
  // The usual course of things is not worth a line.
  const bool usual = reason.empty() || reason == "None" || reason == "JobArrayTaskLimit" || reason == "Priority" ||
                     reason == "Resources";
  const std::string told = usual ? "" : reason;
  if (told != wait_reason_ && !told.empty()) events.say(fmt::format("runs wait in Slurm's queue: {}", told));
  wait_reason_ = told;
}

void SlurmLauncher::stop(int signal) {
  stop_ = signal;
  waiting_.clear();
  asked_at_ = -1e9;
  changed_at_ = base::seconds_now();
}

std::size_t SlurmLauncher::running() const {
  std::size_t count = 0;
  for (const auto& array : arrays_) {
    for (const auto& [index, task] : array.tasks) count += task.started ? 1U : 0U;
  }
  return count;
}

// Without a limit as many as the cluster has room for, which is what runs now.
std::size_t SlurmLauncher::at_once() const {
  return request_.jobs > 0 ? static_cast<std::size_t>(request_.jobs) : std::max<std::size_t>(running(), 1);
}

}  // namespace lehi::study
