// A study's directory before its runs start: whose it is, what it holds, and what is written first. Part of the runner.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "study/runner.h"

namespace lehi::study {

/// The study's directory, opened and locked against other studies.
class StudyLock {
 public:
  explicit StudyLock(const std::filesystem::path& directory);
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
  ~StudyLock();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// What is in the directory already, before anything is written: nothing, or this very study.
std::optional<Study> find_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request);

/// study.json first: a study that is killed while it begins is then one that can be resumed.
void write_beginning(const std::vector<PlannedRun>& plan, const std::filesystem::path& directory, const Study& study);

/// Of a beginning that failed (a full disk), nothing stays.
void remove_partial_runs(const std::vector<PlannedRun>& plan, const std::filesystem::path& directory, bool created);

/// The runs' directories know best, but for a run that died without a word: only study.json tells that it failed.
void read_runs(const std::filesystem::path& directory, Study& study);

/// A name of a folder inside the study that leads elsewhere would have runs write there.
void check_run_directories(const std::filesystem::path& directory, const Study& study);

/// The plan of every run that the study has: of the second phase, what has been chosen.
std::vector<PlannedRun> whole_plan(std::vector<PlannedRun> plan, const Study& study,
                                   const std::vector<PlannedRun>& candidates);

}  // namespace lehi::study
