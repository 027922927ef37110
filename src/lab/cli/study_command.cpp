#include "cli/study_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "cli/table.h"
#include "distributed/launch.h"
#include "distributed/store.h"
#include "lehi/runtime.h"
#include "report/document.h"
#include "study/mpi_launcher.h"
#include "study/stored_plan.h"
#include "study/study_file.h"
#include "train/task_data.h"
#include "train/task_model.h"

namespace lehi::cli {
namespace {

// With --launcher mpi, connects to the other ranks. Null if this process is the only one.
std::unique_ptr<study::StudyRanks> join_ranks(const StudyConfig& config) {
  const auto launch = distributed::launch_of_process();
  if (config.launcher != study::LauncherKind::mpi) {
    if (!launch) return nullptr;
    throw UsageError(
        fmt::format("this is rank {} of {}, and every rank would run the whole study; add --launcher mpi or start one "
                    "process",
                    launch->rank, launch->size));
  }
  if (launch) {
    constexpr std::chrono::seconds limit(60);
    return std::make_unique<study::StudyRanks>(distributed::meet_at_store(*launch, limit), launch->rank, launch->size);
  }
  const auto& names = distributed::launch_variables();
  if (std::none_of(names.begin(), names.end(), [](const auto& name) { return std::getenv(name.c_str()) != nullptr; })) {
    throw UsageError(
        "--launcher mpi needs mpirun, srun or torchrun; start the command as `mpirun -n 4 lehi sweep --launcher mpi "
        "...`");
  }
  return nullptr;
}

// The command line that resumes the study.
std::string resume_command(const StudyConfig& config) {
  std::vector<std::string> words = {"lehi", config.kind, "--resume", "--out", config.directory};
  if (!config.data_dir.empty()) words.insert(words.end(), {"--data-dir", config.data_dir});
  if (config.launcher != study::LauncherKind::local) {
    words.insert(words.end(), {"--launcher", std::string(launcher_name(config.launcher))});
  }
  for (const auto& option : config.slurm_options) words.push_back("--slurm-option=" + option);
  return report::shell_line(words);
}

void report_failures(const study::Study& study, const StudyConfig& config, std::ostream& err) {
  std::size_t failed = 0;
  for (const auto& run : study.runs) failed += run.status == train::RunStatus::failed ? 1U : 0U;
  if (failed == 0) return;
  err << fmt::format("lehi: {} of {} runs failed; `{} --retry-failed` runs them again\n", failed, study.runs.size(),
                     resume_command(config));
}

}  // namespace

void check_data(const std::vector<study::PlannedRun>& plan, const std::string& data_dir, std::ostream& err) {
  std::set<std::vector<std::string>> seen;
  for (const auto& run : plan) {
    const auto& config = run.config;
    if (!seen.insert({config.task, config.target, config.kind, config.text.corpus, config.text.tokenizer}).second) {
      continue;
    }
    const auto data =
        train::load_task(config, data_dir, [&](const std::string& text) { err << "lehi: " << text << '\n'; });
    train::check_memory(config, {data.inputs, data.outputs}, /*ranks=*/1, runtime::describe_host().memory_bytes);
  }
}

int run_study_command(const StudyConfig& config, std::ostream& err,
                      const std::function<void(const study::Study&)>& show) {
  const auto ranks = join_ranks(config);
  study::RunnerRequest request;
  request.data_dir = config.data_dir;
  request.jobs = config.jobs;
  request.program = config.program;
  request.program_arguments = config.program_arguments;
  request.ranks = ranks.get();
  if (ranks && ranks->rank() > 0) {
    study::run_worker_rank(request);
    return done;
  }
  auto plan = config.plan;
  request.second_phases = config.second_phases;
  if (plan.empty()) {
    const auto present = study::read_study(config.directory);
    plan = study::read_plan(config.directory, present);
    request.second_phases = present.second_phases;
  }
  request.directory = config.directory;
  request.kind = config.kind;
  request.command_line = {"lehi", config.kind};
  request.command_line.insert(request.command_line.end(), config.arguments.begin(), config.arguments.end());
  request.launcher = config.launcher;
  if (config.launcher == study::LauncherKind::mpi && !ranks) request.launcher = study::LauncherKind::local;
  request.slurm_options = config.slurm_options;
  request.resume = config.resume;
  request.retry_failed = config.retry_failed;
  request.terminal = is_terminal(err);
  request.check = [&] { check_data(plan, config.data_dir, err); };
  const auto outcome = study::run_study(plan, request, err);
  report_failures(outcome.study, config, err);
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped; `{}` resumes the study\n", resume_command(config));
    return 128 + outcome.signal;
  }
  show(outcome.study);
  return outcome.failed_code == 0 ? done : outcome.failed_code;
}

}  // namespace lehi::cli
