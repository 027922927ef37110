// A study's directory when the study starts: its lock, its existing contents, and the first files written. Part of the
// runner.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "study/runner.h"

namespace lehi::study {

/// Locks a study's directory against other processes.
class StudyLock {
 public:
  explicit StudyLock(const std::filesystem::path& directory);
  StudyLock(const StudyLock&) = delete;
  StudyLock(StudyLock&&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
  StudyLock& operator=(StudyLock&&) = delete;
  ~StudyLock();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The study in the directory; nothing when it is new or empty. Writes nothing. FileError when the directory contains
/// anything else, a different study, or this study without request.resume.
std::optional<Study> find_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request);

/// Writes study.json, then the config.toml of every run: a study killed in between can be resumed.
void write_initial_files(const std::vector<PlannedRun>& plan, const std::filesystem::path& directory,
                         const Study& study);

/// Removes what write_initial_files() wrote before it failed (disk full), and the directory too if it was `created`.
void remove_partial_runs(const std::vector<PlannedRun>& plan, const std::filesystem::path& directory, bool created);

/// Updates every run from its directory. Only a failed run without a record of its own keeps its entry of study.json.
void read_runs(const std::filesystem::path& directory, Study& study);

/// Rejects run directories that resolve outside the study.
void check_run_directories(const std::filesystem::path& directory, const Study& study);

/// `plan`, the first phase, with the chosen runs of the second phase appended.
std::vector<PlannedRun> with_second_phase(std::vector<PlannedRun> plan, const Study& study,
                                          const std::vector<PlannedRun>& candidates);

}  // namespace lehi::study
