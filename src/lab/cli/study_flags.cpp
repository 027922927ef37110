#include "cli/study_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "base/lists.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/table.h"
#include "distributed/launch.h"
#include "distributed/store.h"
#include "files/files.h"
#include "lehi/runtime.h"
#include "report/format.h"
#include "study/mpi_launcher.h"
#include "study/stored_plan.h"
#include "study/study_file.h"
#include "study/study_toml.h"
#include "train/task_data.h"
#include "train/task_model.h"

namespace lehi::cli {
namespace {

std::vector<std::uint64_t> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto piece = text.substr(begin, end - begin);
    std::uint32_t seed = 0;
    const auto [stop, error] = std::from_chars(piece.data(), piece.data() + piece.size(), seed);
    if (error != std::errc() || stop != piece.data() + piece.size()) {
      throw UsageError(
          fmt::format("--seeds: '{}' in '{}' is no seed; expected whole numbers from 0 to 4294967295, "
                      "separated by commas",
                      piece, text));
    }
    seeds.push_back(seed);
    begin = end + 1;
  }
  return seeds;
}

// Missing or damaged data would fail every run of a task: better said once, before anything is written. A text is
// tokenised here, so that runs side by side find it in the cache.
void check_data(const std::vector<study::PlannedRun>& plan, const std::string& data_dir, std::ostream& err) {
  std::set<std::vector<std::string>> seen;
  for (const auto& run : plan) {
    const auto& config = run.config;
    if (!seen.insert({config.task, config.target, config.kind, config.text.corpus, config.text.tokenizer}).second) {
      continue;
    }
    const auto data =
        train::load_task(config, data_dir, [&](const std::string& text) { err << "lehi: " << text << '\n'; });
    train::check_memory(config, {data.inputs, data.outputs}, runtime::describe_host().memory_bytes);
  }
}

const std::map<std::string, study::LauncherKind>& launchers() {
  using study::LauncherKind;
  static const std::map<std::string, LauncherKind> all = {
      {"local", LauncherKind::local}, {"slurm", LauncherKind::slurm}, {"mpi", LauncherKind::mpi}};
  return all;
}

// One run a core, or a rank; Slurm knows best how many there is room for.
int default_jobs(study::LauncherKind launcher) {
  switch (launcher) {
    case study::LauncherKind::slurm:
      return 0;
    case study::LauncherKind::mpi:
      return 1;
    case study::LauncherKind::local:
      break;
  }
  return runtime::describe_host().cores;
}

/// Of --launcher mpi: this process's place among the ranks. Nothing where it is the only one.
std::unique_ptr<study::StudyRanks> join_ranks(const StudyConfig& config) {
  const auto launch = distributed::launch_of_process();
  if (config.launcher != study::LauncherKind::mpi) {
    if (!launch) return nullptr;
    throw UsageError(
        fmt::format("this is rank {} of {}, and each would run the whole study; add --launcher mpi, or start it once.",
                    launch->rank, launch->size));
  }
  if (launch) {
    constexpr std::chrono::seconds limit(60);
    return std::make_unique<study::StudyRanks>(distributed::meet_at_store(*launch, limit), launch->rank, launch->size);
  }
  const auto& names = distributed::launch_variables();
  if (std::none_of(names.begin(), names.end(), [](const auto& name) { return std::getenv(name.c_str()) != nullptr; })) {
    throw UsageError(
        "--launcher mpi needs ranks, and this process was started by neither mpirun, srun nor torchrun; start it as "
        "`mpirun -n 4 lehi sweep --launcher mpi ...`.");
  }
  return nullptr;
}

std::string go_on(const StudyConfig& config) {
  std::vector<std::string> words = {"lehi", config.kind, "--resume", "--out", config.directory};
  if (!config.data_dir.empty()) words.insert(words.end(), {"--data-dir", config.data_dir});
  for (const auto& [name, kind] : launchers()) {
    if (kind == config.launcher && name != "local") words.insert(words.end(), {"--launcher", name});
  }
  for (const auto& option : config.slurm_options) words.push_back("--slurm-option=" + option);
  return report::shell_line(words);
}

void tell_failures(const study::Study& study, const StudyConfig& config, std::ostream& err) {
  std::size_t failed = 0;
  for (const auto& run : study.runs) failed += run.status == train::RunStatus::failed ? 1U : 0U;
  if (failed == 0) return;
  err << fmt::format("lehi: {} of {} runs failed; `{} --retry-failed` runs them again\n", failed, study.runs.size(),
                     go_on(config));
}

// Those that say what is run, not where and how.
std::vector<std::string> flags_that_choose(const StudyFlags& flags) {
  auto given = flags.chose_runs;
  if (!flags.rates.empty()) given.emplace_back("--lrs");
  if (flags.best > 0) given.emplace_back("--best");
  if (!flags.run.preset.empty()) given.emplace_back("--preset");
  if (!flags.run.file.empty()) given.emplace_back("--config");
  if (!flags.run.set.empty()) given.emplace_back("--set");
  for (const auto& setting : flags.run.own) given.push_back(setting.source);
  return given;
}

study::PlanRequest plan_request(const StudyFlags& flags, study::Rates default_rates) {
  const auto run = config_request(flags.run);
  study::PlanRequest request{.tasks = flags.tasks,
                             .preset = run.preset,
                             .file = run.file,
                             .optimizers = base::split_list("--optimizers", flags.optimizers),
                             .rates = {},
                             .default_rates = default_rates,
                             .seeds = parse_seeds(flags.seeds),
                             .settings = run.settings};
  if (!flags.rates.empty()) request.rates = parse_numbers("--lrs", flags.rates);
  request.best = flags.best;
  return request;
}

}  // namespace

void add_study_flags(CLI::App& app, StudyFlags& flags) {
  const std::string group = "Study";
  const auto note = [&flags](const char* flag) {
    return [&flags, flag](const std::string&) { flags.chose_runs.emplace_back(flag); };
  };
  app.add_option("--optimizers", flags.optimizers,
                 "names separated by commas; lehi-gn[mix=max,refresh_every=5] changes keys of [optimizer] for one, "
                 "momentum-control is sgd at lehi's matched rate")
      ->capture_default_str()
      ->each(note("--optimizers"))
      ->group(group);
  app.add_option("--seeds", flags.seeds, "whole numbers separated by commas")
      ->capture_default_str()
      ->each(note("--seeds"))
      ->group(group);
  app.add_option("--jobs", flags.jobs,
                 "runs at once; default: the cores that this process may use; with --launcher slurm no limit, with mpi "
                 "one a rank")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  app.add_option(
         "--launcher", flags.launcher,
         "where runs run: local, on this machine; slurm, as a job array; mpi, on the ranks that mpirun, srun or "
         "torchrun started this command on")
      ->check(CLI::IsMember(launchers()))
      ->capture_default_str()
      ->group(group);
  app.add_option("--slurm-option", flags.slurm_options,
                 "with --launcher slurm: an option for sbatch, as --slurm-option=--partition=gpu; may be repeated")
      ->option_text("OPTION")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--out", flags.out, "the study's directory; default: runs/COMMAND-TASK-TIME")->group(group);
  app.add_flag("--resume", flags.resume,
               "go on with the study in --out: finished runs are kept, stopped ones go on from their checkpoints")
      ->group(group);
  app.add_flag("--retry-failed", flags.retry_failed, "with --resume: run again what failed")->group(group);
  add_run_flags(app, flags.run);
}

StudyConfig study_config(const StudyFlags& flags, const std::string& kind, study::Rates default_rates,
                         const Arguments& arguments) {
  StudyConfig config;
  config.kind = kind;
  config.directory = flags.out;
  config.data_dir = flags.run.data_dir;
  config.resume = flags.resume;
  config.retry_failed = flags.retry_failed;
  config.arguments = arguments;
  config.launcher = launchers().at(flags.launcher);
  config.slurm_options = flags.slurm_options;
  if (!flags.slurm_options.empty() && config.launcher != study::LauncherKind::slurm) {
    throw UsageError("--slurm-option needs --launcher slurm.");
  }
  config.jobs = flags.jobs > 0 ? flags.jobs : default_jobs(config.launcher);
  if (flags.resume && flags.out.empty()) throw UsageError("--resume needs --out, the directory of the study.");
  if (flags.retry_failed && !flags.resume) throw UsageError("--retry-failed needs --resume and --out.");
  const auto chosen = flags_that_choose(flags);
  study::StudyPlan plan;
  if (!flags.study.empty()) {
    if (!flags.tasks.empty() || !chosen.empty()) {
      throw UsageError(fmt::format("--study chooses tasks and runs: leave out {}, or write it into {}.",
                                   flags.tasks.empty() ? chosen.front() : "the task", flags.study));
    }
    plan = study::make_study_plan(study::read_study_file(flags.study));
  } else if (!flags.tasks.empty()) {
    plan = study::make_study_plan({plan_request(flags, default_rates)});
  } else {
    if (!flags.resume) throw UsageError("name a task; `lehi list tasks` shows them.");
    if (!chosen.empty()) {
      throw UsageError(fmt::format(
          "name the task too, or leave out {}: without a task --resume takes the study of the directory as it is.",
          chosen.front()));
    }
    return config;
  }
  config.plan = std::move(plan.runs);
  config.seconds = std::move(plan.second_phases);
  if (config.directory.empty()) {
    const auto what = flags.study.empty() ? base::short_task(config.plan.front().config.task)
                                          : base::safe_name(std::filesystem::path(flags.study).stem().string());
    config.directory = default_out(fmt::format("{}-{}", kind, what));
  }
  return config;
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
  request.second_phases = config.seconds;
  if (plan.empty()) {
    const auto there = study::read_study(config.directory);
    plan = study::read_plan(config.directory, there);
    request.second_phases = there.second_phases;
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
  tell_failures(outcome.study, config, err);
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped; `{}` goes on from here\n", go_on(config));
    return 128 + outcome.signal;
  }
  show(outcome.study);
  return outcome.failed_code == 0 ? done : outcome.failed_code;
}

}  // namespace lehi::cli
