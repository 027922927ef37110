#include "study/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <ostream>
#include <thread>

#include "runtime/message.h"
#include "runtime/signals.h"
#include "study/process.h"
#include "study/progress.h"
#include "train/files.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using train::FileError;
using train::RunStatus;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The study's directory, opened and locked against other studies.
class StudyLock {
 public:
  explicit StudyLock(const fs::path& directory) : descriptor_(::open(directory.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw FileError("open", directory, errno);
    // The runs of a study that was killed hold its lock until they are gone too, which takes a moment.
    constexpr int tries = 20;
    for (int i = 0; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
      const int error = errno;
      if (error == EWOULDBLOCK && i < tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        continue;
      }
      ::close(descriptor_);
      if (error != EWOULDBLOCK) throw FileError("lock", directory, error);
      throw FileError(fmt::format("another lehi is running the study in {}; wait for it, or choose another --out",
                                  directory.string()));
    }
  }
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
  ~StudyLock() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// But for what a study that was killed at its first moment may have left, which goes away later.
bool is_free(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) throw FileError("read", directory, error.value());
  return std::all_of(begin(entries), end(entries), [](const auto& entry) {
    return entry.path().filename().string().starts_with(std::string(kStudyFile) + ".tmp-");
  });
}

// What is in the directory already, before anything is written: nothing, or this very study.
std::optional<Study> find_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request) {
  const auto& directory = request.directory;
  std::error_code error;
  const auto found = fs::status(directory, error);
  if (!fs::exists(found)) return {};
  if (!fs::is_directory(found)) {
    throw FileError(fmt::format("{} is not a directory; choose another --out", directory.string()));
  }
  if (is_free(directory)) return {};
  if (!fs::exists(directory / kStudyFile)) {
    throw FileError(
        fmt::format("{} holds something else than a study; choose another --out or empty it", directory.string()));
  }
  auto study = read_study(directory);
  if (study.kind != request.kind) {
    throw FileError(fmt::format("{} holds a study of `lehi {}`; choose another --out", directory.string(), study.kind));
  }
  const auto difference = plan_difference(directory, study, plan);
  if (!difference.empty()) {
    throw FileError(
        fmt::format("{} holds a different study: {}; choose another --out", directory.string(), difference));
  }
  if (!request.resume) {
    throw FileError(fmt::format("{} holds this study already; add --resume to go on with it, or choose another --out",
                                directory.string()));
  }
  return study;
}

// study.json first: a study that is killed while it begins is then one that can be resumed.
void write_beginning(const std::vector<PlannedRun>& plan, const fs::path& directory, const Study& study) {
  write_study(directory, study);
  for (const auto& run : plan) {
    train::make_directories(directory / run.directory);
    const auto file = directory / run.directory / "config.toml";
    if (!fs::exists(file)) train::publish_text(file, train::to_toml(run.config));
  }
}

// Of a beginning that failed (a full disk), nothing stays.
void take_back(const std::vector<PlannedRun>& plan, const fs::path& directory, bool created) {
  std::error_code ignored;
  fs::remove(directory / kStudyFile, ignored);
  for (const auto& run : plan) {
    fs::remove(directory / run.directory / "config.toml", ignored);
    fs::remove(directory / run.directory, ignored);  // only when it is empty
  }
  if (created) fs::remove(directory, ignored);
}

// The runs' directories know best, but for a run that died without a word: only study.json tells that it failed.
void read_runs(const fs::path& directory, Study& study) {
  for (auto& run : study.runs) {
    const StudyRun before = run;
    read_run(run, directory);
    if (before.status == RunStatus::failed && !run.finished()) run = before;
  }
}

// A name of a folder inside the study that leads elsewhere would have runs write there.
void check_run_directories(const fs::path& directory, const std::vector<PlannedRun>& plan) {
  for (const auto& run : plan) {
    std::error_code error;
    const auto found = fs::symlink_status(directory / run.directory, error);
    if (fs::exists(found) && !fs::is_directory(found)) {
      throw FileError(fmt::format("{} is in the way of a run: it is no directory; remove it",
                                  (directory / run.directory).string()));
    }
  }
}

std::string outcome_text(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("was ended by signal {} (SIG{})", WTERMSIG(status), name == nullptr ? "?" : name);
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

class Runner {
 public:
  Runner(const RunnerRequest& request, Study study, const StudyLock& lock, const runtime::SignalWatch& signals,
         std::ostream& err)
      : request_(request),
        signals_(signals),
        lock_(lock),
        study_(std::move(study)),
        progress_(err, Progress::style_for(request.terminal), request.jobs, study_.runs) {}

  StudyOutcome run() {
    for (std::size_t i = 0; i < study_.runs.size(); ++i) {
      const auto& run = study_.runs[i];
      if (!run.finished() && (run.status != RunStatus::failed || request_.retry_failed)) waiting_.push_back(i);
    }
    std::reverse(waiting_.begin(), waiting_.end());
    if (!waiting_.empty()) study_.finished.clear();
    while (!running_.empty() || (!waiting_.empty() && stop_ == 0)) {
      if (stop_ == 0) start_some();
      wait_for_output();
      look_after_children();
      pass_signal_on();
      progress_.tick(now());
    }
    progress_.clear();
    const bool all_ended = std::all_of(study_.runs.begin(), study_.runs.end(), [](const auto& run) {
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
  check_run_directories(request.directory, plan);
  train::remove_leftovers(request.directory);
  const bool fresh = !study;
  if (fresh) study = new_study(request.kind, request.command_line, plan);
  read_runs(request.directory, *study);
  try {
    write_beginning(plan, request.directory, *study);
  } catch (const FileError&) {
    if (fresh) take_back(plan, request.directory, created);
    throw;
  }
  return Runner(request, std::move(*study), lock, signals, err).run();
}

}  // namespace lehi::study
