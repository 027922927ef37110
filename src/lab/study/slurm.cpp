#include "study/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "files/files.h"
#include "runtime/message.h"
#include "study/process.h"
#include "train/json_file.h"

namespace lehi::study {
namespace {

constexpr std::string_view kUnknownJob = "Invalid job id";

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// The message of a failed command, which is in its last line ("sbatch: error: Batch job submission failed: ...").
std::string error_message(const CommandOutput& output) {
  std::string last;
  std::istringstream lines(output.err + output.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  if (last.empty()) return fmt::format("no message, exit code {}", output.code);
  constexpr std::string_view mark = "error: ";
  if (const auto found = last.find(mark); found != std::string::npos) last.erase(0, found + mark.size());
  std::replace_if(
      last.begin(), last.end(), [](unsigned char letter) { return letter < ' '; }, '?');
  return fmt::format("\"{}\"", last);
}

/// The lines that a command printed; none when the controller does not know the job.
std::vector<std::string> query(const std::vector<std::string>& arguments) {
  const auto output = run_command(arguments);
  std::vector<std::string> lines;
  if (output.code != 0) {
    if (output.err.find(kUnknownJob) != std::string::npos) return lines;
    throw SlurmUnavailable(fmt::format("{} failed: {}", arguments.front(), error_message(output)));
  }
  std::istringstream text(output.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// "3:0" for the key "ExitCode=": the exit code and the signal. Takes the first match, since strings that users chose
// come later in the line.
std::string_view value_in(std::string_view line, std::string_view key) {
  const auto begin = line.find(key);
  if (begin == std::string_view::npos) return "";
  const auto rest = line.substr(begin + key.size());
  return rest.substr(0, rest.find(' '));
}

}  // namespace

bool SlurmTask::ended() const {
  constexpr std::array<std::string_view, 10> ends = {"COMPLETED", "FAILED",        "CANCELLED", "TIMEOUT",
                                                     "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
                                                     "PREEMPTED", "REVOKED"};
  return std::find(ends.begin(), ends.end(), state) != ends.end();
}

void check_slurm(const std::vector<std::string>& options) {
  for (const auto& option : options) {
    if (!option.starts_with('-') || option == "-" || option == "--") {
      throw_invalid_argument(
          "--slurm-option: {} is not an option of sbatch; expected an option with its value, as in "
          "--slurm-option=--partition=gpu",
          train::in_quotes(option));
    }
    if (option.starts_with("-M") || option.starts_with("--cluster")) {
      throw_invalid_argument(
          "--slurm-option: {} would send the runs to another cluster, where the study can't follow them; set "
          "SLURM_CLUSTERS, which all of Slurm's commands read",
          train::in_quotes(option));
    }
  }
  for (const auto* command : {"sbatch", "squeue", "scontrol", "scancel"}) {
    if (find_command(command).empty()) {
      throw FileError(
          fmt::format("--launcher slurm needs the command {}, which is not on the PATH; run the study where "
                      "jobs are submitted, or omit --launcher to run it on this machine",
                      command));
    }
  }
}

std::string submit_array(const std::string& name, std::size_t tasks, std::size_t limit,
                         const std::vector<std::string>& options, const std::vector<std::string>& command) {
  std::vector<std::string> arguments = {"sbatch"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  // After the user's options, so that these win. Slurm always expands '%' and '\' in the path of --output, so the
  // script opens its log itself.
  const auto at_once = limit == 0 ? "" : fmt::format("%{}", limit);
  arguments.insert(arguments.end(), {"--parsable", "--job-name=" + name, "--output=/dev/null",
                                     fmt::format("--array=0-{}{}", tasks - 1, at_once)});
  arguments.insert(arguments.end(), command.begin(), command.end());
  const auto output = run_command(arguments);
  auto job = output.out.substr(0, output.out.find_first_of(";\n"));
  if (output.code != 0 || !whole_number<std::uint64_t>(job)) {
    throw FileError(fmt::format(
        "sbatch did not accept the study's {} run{} as a job array: {}; see `sinfo` and `man sbatch`, and pass "
        "the options that your cluster requires by --slurm-option",
        tasks, tasks == 1 ? "" : "s", error_message(output)));
  }
  return job;
}

std::size_t max_array_size() {
  constexpr std::size_t slurm_default = 1001;
  const auto output = run_command({"scontrol", "show", "config"});
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("MaxArraySize")) continue;
    const auto number = whole_number<std::size_t>(line.substr(std::min(line.find_last_of(" =") + 1, line.size())));
    if (number && *number > 0) return *number;
  }
  return slurm_default;
}

SlurmTasks query_tasks(const std::string& job) {
  SlurmTasks tasks;
  for (const auto& line :
       query({"squeue", "--noheader", "--array", "--states=all", "--jobs=" + job, "--format=%i|%T|%r"})) {
    const auto state = line.find('|');
    const auto reason = line.find('|', state + 1);
    const auto index = line.find('_');
    if (reason == std::string::npos || index > state) continue;
    const auto task = whole_number<std::size_t>(std::string_view(line).substr(index + 1, state - index - 1));
    if (task) tasks[*task] = {line.substr(state + 1, reason - state - 1), line.substr(reason + 1)};
  }
  return tasks;
}

std::optional<std::string> find_array(const std::string& name) {
  const auto lines = query({"squeue", "--noheader", "--states=all", "--name=" + name, "--format=%F"});
  if (lines.empty()) return {};
  return lines.front();
}

SlurmEnd query_end(const std::string& job, std::size_t task) {
  const auto lines = query({"scontrol", "--oneliner", "show", "job", fmt::format("{}_{}", job, task)});
  if (lines.empty()) return {};
  const auto& line = lines.front();
  SlurmEnd end{.state = std::string(value_in(line, " JobState=")), .reason = std::string(value_in(line, " Reason="))};
  const auto codes = value_in(line, " ExitCode=");
  const auto colon = std::min(codes.find(':'), codes.size());
  end.code = whole_number<int>(codes.substr(0, colon)).value_or(0);
  end.signal = whole_number<int>(codes.substr(std::min(colon + 1, codes.size()))).value_or(0);
  return end;
}

bool cancel_waiting(const std::string& job) { return run_command({"scancel", "--state=PENDING", job}).code == 0; }

// --batch: only to the script's own process, which has become the run's. Otherwise the run's children would receive the
// signal twice, and a second signal ends a run at once.
bool signal_task(const std::string& job, std::size_t task, int signal) {
  return run_command({"scancel", "--batch", fmt::format("--signal={}", ::sigabbrev_np(signal)),
                      fmt::format("{}_{}", job, task)})
             .code == 0;
}

}  // namespace lehi::study
