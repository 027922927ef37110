#include "study/slurm_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "distributed/launch.h"
#include "files/files.h"
#include "study/run_processes.h"
#include "train/json_file.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = "slurm";
constexpr const char* kRunsEnding = ".runs";
constexpr const char* kJobEnding = ".job";
constexpr std::uint64_t kLargestList = 1 << 26;

// All that differs between studies comes as arguments: no shell reads a user's text. The log is opened only after the
// test, because a shell that can't open it would end with a code of its own.
constexpr const char* kScript = R"(#!/bin/sh
# A task of a job array that `lehi sweep --launcher slurm` submitted: the run that this task's line of the list names.
# $1: the study's directory; $2: the list in its slurm/; $3...: the command, whose last argument is the run's directory
study=$1
run=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$1/slurm/$2")
[ -n "$run" ] && [ -d "$study/$run" ] && [ -w "$study/slurm" ] || exit @NO_STUDY@
exec >>"$study/slurm/${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.log" 2>&1
shift 2
# A run is one process, and would take itself for one of many where Slurm says so.
unset @RANKS@
exec "$@" "$study/$run"
)";

fs::path folder_of(const fs::path& study_directory) {
  auto folder = study_directory / kFolder;
  std::error_code error;
  const auto found = fs::symlink_status(folder, error);
  if (fs::exists(found) && !fs::is_directory(found)) {
    throw FileError(
        fmt::format("{} is no directory, but the files of job arrays belong there; remove it", folder.string()));
  }
  return folder;
}

std::string script_text() {
  std::string text = kScript;
  const auto put = [&](const std::string& key, const std::string& value) {
    text.replace(text.find(key), key.size(), value);
  };
  put("@NO_STUDY@", fmt::format("{}", kNoStudyThere));
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
  const auto folder = folder_of(study_directory);
  std::vector<SlurmArray> arrays;
  for (const auto& file : list_directory(folder)) {
    if (!file.ends_with(kRunsEnding)) continue;
    SlurmArray array{.name = fs::path(file).stem().string(), .runs = lines_of(folder / file), .job = ""};
    for (const auto& run : array.runs) {
      if (!is_safe_name(run)) {
        throw FileError(fmt::format("{} names a run {}, which is no name of a folder", (folder / file).string(),
                                    train::in_quotes(run)));
      }
    }
    const auto job = folder / (array.name + kJobEnding);
    if (fs::exists(job)) {
      const auto lines = lines_of(job);
      array.job = lines.empty() ? "" : lines.front();
      if (array.job.empty() || array.job.find_first_not_of("0123456789") != std::string::npos) {
        throw FileError(fmt::format("{} holds {} where the number of a Slurm job was expected", job.string(),
                                    train::in_quotes(array.job)));
      }
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

SlurmArray write_array(const fs::path& study_directory, std::vector<std::string> runs) {
  const auto folder = folder_of(study_directory);
  std::random_device random;
  SlurmArray array{.name = fmt::format("lehi-{:08x}{:08x}", random(), random()), .runs = std::move(runs), .job = ""};
  make_directories(folder);
  publish_text(folder / "task.sh", script_text());
  std::string text;
  for (const auto& run : array.runs) (text += run) += '\n';
  publish_text(folder / (array.name + kRunsEnding), text);
  return array;
}

void write_job(const fs::path& study_directory, const SlurmArray& array) {
  publish_text(folder_of(study_directory) / (array.name + kJobEnding), array.job + "\n");
}

void forget_array(const fs::path& study_directory, const SlurmArray& array) {
  const auto folder = folder_of(study_directory);
  std::error_code ignored;
  // The list last: it is what makes an array one that may still run.
  fs::remove(folder / (array.name + kJobEnding), ignored);
  fs::remove(folder / (array.name + kRunsEnding), ignored);
  const auto left = list_directory(folder);
  if (left.size() == 1 && left.front() == "task.sh") remove_tree(folder);
}

std::vector<std::string> array_command(const RunnerRequest& request, const SlurmArray& array) {
  const auto study = fs::absolute(request.directory);
  // The nodes have a /proc of their own.
  const auto program =
      request.program == "/proc/self/exe" ? fs::read_symlink(request.program) : fs::absolute(request.program);
  std::vector<std::string> command = {(study / kFolder / "task.sh").string(), study.string(), array.name + kRunsEnding,
                                      program.string()};
  const auto arguments = train_arguments(request, "none");
  command.insert(command.end(), arguments.begin() + 1, arguments.end());
  return command;
}

std::string task_log(const SlurmArray& array, std::size_t task) {
  return fmt::format("{}/{}_{}.log", kFolder, array.job, task);
}

std::string last_words(const fs::path& study_directory, const SlurmArray& array, std::size_t task) {
  std::ifstream log(study_directory / task_log(array, task));
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (auto complaint = complaint_of(line); !complaint.empty()) last = std::move(complaint);
  }
  return last;
}

}  // namespace lehi::study
