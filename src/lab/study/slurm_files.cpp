#include "study/slurm_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "base/names.h"
#include "distributed/launch.h"
#include "files/files.h"
#include "study/run_processes.h"
#include "train/json_file.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDirectory = "slurm";
constexpr const char* kRunsExtension = ".runs";
constexpr const char* kJobExtension = ".job";
constexpr std::uint64_t kLargestList = 1 << 26;

// Everything that differs between studies is an argument, so that no shell interprets what a user wrote. The log is
// opened after the test, since a shell that can't open it exits with a code of its own.
constexpr const char* kScript = R"(#!/bin/sh
# A task of a job array that `lehi sweep --launcher slurm` submitted: runs the run on this task's line of the list.
# $1: the study's directory; $2: the list in its slurm/; $3...: the command, whose last argument is the run's directory
study=$1
run=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$1/slurm/$2")
[ -n "$run" ] && [ -d "$study/$run" ] && [ -w "$study/slurm" ] || exit @NO_STUDY@
exec >>"$study/slurm/${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.log" 2>&1
shift 2
# A run is a single process; with these variables it would start as one rank of several.
unset @RANKS@
exec "$@" "$study/$run"
)";

fs::path slurm_directory(const fs::path& study_directory) {
  auto directory = study_directory / kDirectory;
  std::error_code error;
  const auto found = fs::symlink_status(directory, error);
  if (fs::exists(found) && !fs::is_directory(found)) {
    throw FileError(fmt::format("{} is not a directory, but a study keeps the files of its job arrays there; remove it",
                                directory.string()));
  }
  return directory;
}

std::string script_text() {
  std::string text = kScript;
  const auto put = [&](const std::string& key, const std::string& value) {
    text.replace(text.find(key), key.size(), value);
  };
  put("@NO_STUDY@", fmt::format("{}", kNoStudyDirectory));
  put("@RANKS@", fmt::format("{}", fmt::join(distributed::launch_variables(), " ")));
  return text;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(read_text(path, kLargestList));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<SlurmArray> read_arrays(const fs::path& study_directory) {
  const auto directory = slurm_directory(study_directory);
  std::vector<SlurmArray> arrays;
  for (const auto& file : list_directory(directory)) {
    if (!file.ends_with(kRunsExtension)) continue;
    SlurmArray array{.name = fs::path(file).stem().string(), .runs = lines_of(directory / file), .job = ""};
    for (const auto& run : array.runs) {
      if (!base::is_safe_name(run)) {
        throw FileError(fmt::format("{} names the run directory {}, which is not a plain directory name",
                                    (directory / file).string(), train::in_quotes(run)));
      }
    }
    const auto job = directory / (array.name + kJobExtension);
    if (fs::exists(job)) {
      const auto lines = lines_of(job);
      array.job = lines.empty() ? "" : lines.front();
      if (array.job.empty() || array.job.find_first_not_of("0123456789") != std::string::npos) {
        throw FileError(fmt::format("{} contains {}, expected the number of a Slurm job", job.string(),
                                    train::in_quotes(array.job)));
      }
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

SlurmArray write_array(const fs::path& study_directory, std::vector<std::string> runs) {
  const auto directory = slurm_directory(study_directory);
  std::random_device random;
  SlurmArray array{.name = fmt::format("lehi-{:08x}{:08x}", random(), random()), .runs = std::move(runs), .job = ""};
  make_directories(directory);
  publish_text(directory / "task.sh", script_text());
  std::string text;
  for (const auto& run : array.runs) (text += run) += '\n';
  publish_text(directory / (array.name + kRunsExtension), text);
  return array;
}

void write_job(const fs::path& study_directory, const SlurmArray& array) {
  publish_text(slurm_directory(study_directory) / (array.name + kJobExtension), array.job + "\n");
}

void remove_array(const fs::path& study_directory, const SlurmArray& array) {
  const auto directory = slurm_directory(study_directory);
  std::error_code ignored;
  // The list last: an array with a list may still run.
  fs::remove(directory / (array.name + kJobExtension), ignored);
  fs::remove(directory / (array.name + kRunsExtension), ignored);
  const auto left = list_directory(directory);
  if (left.size() == 1 && left.front() == "task.sh") remove_tree(directory);
}

std::vector<std::string> array_command(const RunnerRequest& request, const SlurmArray& array) {
  const auto study = fs::absolute(request.directory);
  // /proc/self/exe is a different program on the nodes.
  const auto program =
      request.program == "/proc/self/exe" ? fs::read_symlink(request.program) : fs::absolute(request.program);
  std::vector<std::string> command = {(study / kDirectory / "task.sh").string(), study.string(),
                                      array.name + kRunsExtension, program.string()};
  const auto arguments = train_arguments(request, "none");
  command.insert(command.end(), arguments.begin() + 1, arguments.end());
  return command;
}

std::string last_log_line(const fs::path& study_directory, const SlurmArray& array, std::size_t task) {
  std::ifstream log(study_directory / kDirectory / fmt::format("{}_{}.log", array.job, task));
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (auto text = error_line(line); !text.empty()) last = std::move(text);
  }
  return last;
}

}  // namespace lehi::study
