#include "contest/run_contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "contest/contest_difference.h"
#include "contest/contest_json.h"
#include "contest/plan.h"
#include "contest/task_contest.h"
#include "files/files.h"
#include "lehi/runtime.h"
#include "lehi/version.h"
#include "study/study_file.h"
#include "train/run_record.h"

namespace lehi::contest {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestStoredFile = 1 << 20;

/// The contest's file and whether the directory has it already.
struct OpenedContest {
  std::string text;
  Contest contest;
  std::optional<std::string> stored;  ///< the text of the directory's contest.toml
};

bool has_other_files(const fs::path& directory) {
  const auto names = list_directory(directory);
  return std::any_of(names.begin(), names.end(), [](const auto& name) { return !is_leftover_name(name); });
}

OpenedContest open_contest(const ContestRequest& request) {
  const auto& directory = request.directory;
  const auto file = directory / kContestFile;
  OpenedContest opened;
  std::error_code error;
  if (fs::exists(file, error)) {
    if (!request.resume) {
      throw FileError(fmt::format("{} holds a contest already; add --resume to continue it, or choose another --out",
                                  directory.string()));
    }
    opened.stored = read_text(file, kLargestStoredFile);
  } else if (fs::exists(directory, error) && (!fs::is_directory(directory, error) || has_other_files(directory))) {
    throw FileError(fmt::format("{} is not empty and holds no contest; choose another --out", directory.string()));
  } else if (request.file.empty()) {
    throw FileError(fmt::format("{} holds no contest to resume; name the contest to start one", directory.string()));
  }
  opened.text = request.file.empty() ? *opened.stored : contest_text(request.file);
  opened.contest = parse_contest(opened.text, request.file.empty() ? file.string() : request.file);
  if (!opened.stored) return opened;
  const auto difference = contest_difference(parse_contest(*opened.stored, file.string()), opened.contest, directory);
  if (!difference.empty()) {
    throw FileError(fmt::format("{} holds a contest with other settings: {}; choose another --out", directory.string(),
                                difference));
  }
  return opened;
}

std::string machine_text() {
  const auto host = runtime::describe_host();
  return fmt::format("{} core{} of {}", host.cores, host.cores == 1 ? "" : "s", host.cpu);
}

class ContestRun {
 public:
  ContestRun(const ContestRequest& request, const Contest& contest, std::ostream& err)
      : request_(request), contest_(contest), err_(err) {
    const auto selected = restricted(contest, request.tasks, request.arms);
    for (const auto& task : selected.tasks) tasks_.push_back(task.name);
    for (const auto& arm : selected.arms) arms_.push_back(arm.name);
    source_.may_start = [this] { return signal_ == 0; };
    source_.get = [this](const PhaseStudy& phase) { return run_phase_study(phase); };
  }

  /// Plans every trial and loads the data of every task.
  void check() const {
    std::vector<study::PlannedRun> plan;
    for (const auto& task : contest_.tasks) {
      if (!is_selected(task.name)) continue;
      const auto runs = check_task_plan(contest_, task, arms_);
      plan.insert(plan.end(), runs.begin(), runs.end());
    }
    request_.check(plan);
  }

  ContestOutcome run() {
    begin_record();
    read_tasks();
    write();
    measure_speeds();
    for_each_selected([&](std::size_t i, const TaskSpec& task) {
      outcomes_[i] = run_task(contest_, task, arms_, request_.directory / task.name, source_, [&](const auto& outcome) {
        outcomes_[i] = outcome;
        write();
      });
    });
    if (signal_ != 0) read_tasks();  // with the runs that ended since the last phase
    return {.result = write(true), .signal = signal_, .failed_code = failed_code_};
  }

 private:
  bool is_selected(const std::string& task) const {
    return std::find(tasks_.begin(), tasks_.end(), task) != tasks_.end();
  }

  void for_each_selected(const std::function<void(std::size_t, const TaskSpec&)>& run) {
    for (std::size_t i = 0; i < contest_.tasks.size() && signal_ == 0; ++i) {
      if (is_selected(contest_.tasks[i].name)) run(i, contest_.tasks[i]);
    }
  }

  // Of all tasks before anything else, so that the machine must be left alone for this part only.
  void measure_speeds() {
    const bool were_measured = all_speeds_measured();
    for_each_selected([&](std::size_t, const TaskSpec& task) {
      run_task(
          contest_, task, arms_, request_.directory / task.name, source_, [](const auto&) {}, Until::speed);
      read_tasks();
      write();
    });
    if (!were_measured && all_speeds_measured()) {
      err_ << "lehi: all times of steps are measured; other work no longer changes the result\n";
    }
  }

  bool all_speeds_measured() const {
    for (std::size_t i = 0; i < contest_.tasks.size(); ++i) {
      const auto& arms = outcomes_[i].result.arms;
      const auto measured = [](const auto& arm) { return arm.steps > 0; };
      if (is_selected(contest_.tasks[i].name) && (arms.empty() || !std::all_of(arms.begin(), arms.end(), measured))) {
        return false;
      }
    }
    return true;
  }

  // A resumed contest keeps the facts of its start.
  void begin_record() {
    if (fs::exists(request_.directory / kResultFile)) {
      record_ = read_result(request_.directory);
      return;
    }
    record_.lehi_version = LEHI_VERSION;
    record_.started = train::utc_now();
    record_.machine = machine_text();
    record_.command_line = request_.command_line;
  }

  void read_tasks() {
    outcomes_.resize(contest_.tasks.size());
    const auto stored = stored_studies();
    for (std::size_t i = 0; i < contest_.tasks.size(); ++i) {
      const auto& task = contest_.tasks[i];
      const auto directory = request_.directory / task.name;
      if (!fs::exists(directory)) {
        outcomes_[i] = {.result = {}, .missing = {fmt::format("{} has not been run", task.name)}};
        continue;
      }
      outcomes_[i] = run_task(contest_, task, {}, directory, stored, [](const auto&) {});
    }
  }

  study::Study run_phase_study(const PhaseStudy& phase) {
    if (signal_ != 0) return stored_studies().get(phase);
    auto runner = request_.runner;
    runner.directory = phase.directory;
    runner.kind = "contest";
    runner.command_line = request_.command_line;
    runner.resume = true;
    runner.retry_failed = true;
    if (phase.in_turn) runner.jobs = 1;
    if (!has_ended(phase)) err_ << fmt::format("lehi: {}: {} runs\n", phase.title, phase.plan.size());
    auto outcome = study::run_study(phase.plan, runner, err_);
    signal_ = outcome.signal;
    if (outcome.failed_code != 0) failed_code_ = outcome.failed_code;
    return std::move(outcome.study);
  }

  static bool has_ended(const PhaseStudy& phase) {
    return fs::exists(phase.directory / study::kStudyFile) && !study::read_study(phase.directory).finished.empty();
  }

  const Result& write(bool ended = false) {
    record_.question = contest_.question;
    record_.tasks.clear();
    record_.missing.clear();
    for (const auto& [result, missing] : outcomes_) {
      if (!result.name.empty()) record_.tasks.push_back(result);
      record_.missing.insert(record_.missing.end(), missing.begin(), missing.end());
    }
    if (!record_.missing.empty()) record_.finished.clear();
    if (record_.missing.empty() && ended && record_.finished.empty()) record_.finished = train::utc_now();
    write_result(request_.directory, record_);
    request_.written(record_);
    return record_;
  }

  const ContestRequest& request_;
  const Contest& contest_;
  std::ostream& err_;
  std::vector<std::string> tasks_;  ///< to run now
  std::vector<std::string> arms_;
  StudySource source_;
  std::vector<TaskOutcome> outcomes_;  ///< of all tasks of the contest
  Result record_;
  int signal_ = 0;
  int failed_code_ = 0;
};

}  // namespace

ContestOutcome run_contest(const ContestRequest& request, std::ostream& err) {
  const auto before = open_contest(request);
  ContestRun(request, before.contest, err).check();
  make_directories(request.directory);
  const DirectoryLock lock(request.directory);
  const auto opened = open_contest(request);  // again: another process may have changed it before this one had the lock
  remove_leftovers(request.directory);
  if (opened.stored != opened.text) publish_text(request.directory / kContestFile, opened.text);
  return ContestRun(request, opened.contest, err).run();
}

}  // namespace lehi::contest
