#include "study/study_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "files/files.h"
#include "study/run_directory.h"
#include "study/stored_plan.h"
#include "study/study_file.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using train::RunStatus;

// Ignores unfinished copies of study.json, which a study killed at its start may have left; remove_leftovers() removes
// them.
bool is_empty_directory(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) throw FileError("read", directory, error.value());
  return std::all_of(begin(entries), end(entries), [](const auto& entry) {
    return entry.path().filename().string().starts_with(std::string(kStudyFile) + ".tmp-");
  });
}

}  // namespace

StudyLock::StudyLock(const fs::path& directory) : descriptor_(::open(directory.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw FileError("open", directory, errno);
  // The runs of a killed study hold its lock until they have ended too, which takes a moment.
  constexpr int tries = 20;
  for (int i = 0; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
    const int error = errno;
    if (error == EWOULDBLOCK && i < tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    ::close(descriptor_);
    if (error != EWOULDBLOCK) throw FileError("lock", directory, error);
    throw FileError(fmt::format("another lehi process is running the study in {}; wait for it, or choose another --out",
                                directory.string()));
  }
}

StudyLock::~StudyLock() { ::close(descriptor_); }

std::optional<Study> find_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request) {
  const auto& directory = request.directory;
  std::error_code error;
  const auto found = fs::status(directory, error);
  if (!fs::exists(found)) return {};
  if (!fs::is_directory(found)) {
    throw FileError(fmt::format("{} is not a directory; choose another --out", directory.string()));
  }
  if (is_empty_directory(directory)) return {};
  if (!fs::exists(directory / kStudyFile)) {
    throw FileError(
        fmt::format("{} is not empty and holds no study; choose another --out, or empty it", directory.string()));
  }
  auto study = read_study(directory);
  if (study.kind != request.kind) {
    throw FileError(fmt::format("{} holds a study of `lehi {}`; choose another --out", directory.string(), study.kind));
  }
  for (const auto& run : study.runs) {
    if (run.damaged) throw FileError(fmt::format("{}; choose another --out", run.message));
  }
  if (!study.unknown_key.empty()) throw FileError(study.unknown_key);
  const auto difference = plan_difference(directory, study, plan, request.second_phases);
  if (!difference.empty()) {
    throw FileError(
        fmt::format("{} holds a different study: {}; choose another --out", directory.string(), difference));
  }
  if (!request.resume) {
    throw FileError(fmt::format("{} holds this study already; add --resume to continue it, or choose another --out",
                                directory.string()));
  }
  return study;
}

void write_initial_files(const std::vector<PlannedRun>& plan, const fs::path& directory, const Study& study) {
  write_study(directory, study);
  for (const auto& run : plan) {
    make_directories(directory / run.directory);
    const auto file = directory / run.directory / "config.toml";
    if (!fs::exists(file)) publish_text(file, train::to_toml(run.config));
  }
}

void remove_partial_runs(const std::vector<PlannedRun>& plan, const fs::path& directory, bool created) {
  std::error_code ignored;
  for (const auto& run : plan) {
    fs::remove(directory / run.directory / "config.toml", ignored);
    fs::remove(directory / run.directory, ignored);  // only if it is empty
  }
  fs::remove(directory / kStudyFile, ignored);  // last: until then the study can be resumed
  if (created) fs::remove(directory, ignored);
}

void read_runs(const fs::path& directory, Study& study) {
  for (auto& run : study.runs) {
    const StudyRun before = run;
    read_run(run, directory);
    if (before.status == RunStatus::failed && !run.finished()) run = before;
  }
}

void check_run_directories(const fs::path& directory, const Study& study) {
  for (const auto& run : study.runs) {
    try {
      run_directory(run, directory);
    } catch (const FileError& error) {
      throw FileError(fmt::format("{}; remove it", error.what()));
    }
  }
}

std::vector<PlannedRun> with_second_phase(std::vector<PlannedRun> plan, const Study& study,
                                          const std::vector<PlannedRun>& candidates) {
  for (const auto& run : study.runs) {
    if (run.phase != 2) continue;
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const auto& candidate) { return candidate.directory == run.directory; });
    if (found == candidates.end()) {
      throw FileError(
          fmt::format("{} has the run {} in its second phase, which is not among the candidates of its first phase",
                      kStudyFile, run.directory));
    }
    plan.push_back(*found);
  }
  return plan;
}

}  // namespace lehi::study
