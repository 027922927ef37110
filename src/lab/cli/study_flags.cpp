#include "cli/study_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <vector>

#include "base/lists.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "lehi/runtime.h"
#include "runtime/names.h"
#include "study/study_toml.h"

namespace lehi::cli {
namespace {

std::vector<std::uint64_t> parse_seeds(std::string_view list) {
  std::vector<std::uint64_t> seeds;
  for (const auto piece : split_at_commas(list)) {
    std::uint32_t seed = 0;
    const auto [stop, error] = std::from_chars(piece.data(), piece.data() + piece.size(), seed);
    if (error != std::errc() || stop != piece.data() + piece.size()) {
      throw UsageError(
          fmt::format("--seeds: '{}' in '{}' is not a seed; expected whole numbers from 0 to 4294967295, separated by "
                      "commas",
                      piece, list));
    }
    seeds.push_back(seed);
  }
  return seeds;
}

const NameTable<study::LauncherKind>& launcher_names() {
  using study::LauncherKind;
  static const NameTable<LauncherKind> names = {
      {LauncherKind::local, "local"}, {LauncherKind::slurm, "slurm"}, {LauncherKind::mpi, "mpi"}};
  return names;
}

// One run per core or rank; 0 for Slurm, which limits the runs itself.
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

// The given flags that determine the study's runs.
std::vector<std::string> plan_flags(const StudyFlags& flags) {
  auto given = flags.given;
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

std::string_view launcher_name(study::LauncherKind launcher) { return name_in(launcher_names(), launcher); }

void add_study_flags(CLI::App& app, StudyFlags& flags) {
  const auto note = [&flags](const char* flag) {
    return [&flags, flag](const std::string&) { flags.given.emplace_back(flag); };
  };
  app.add_option("--optimizers", flags.optimizers,
                 "optimizers separated by commas; lehi-gn[mix=max,refresh_every=5] sets keys of [optimizer] for one of "
                 "them; momentum-control is sgd at the learning rate that matches lehi's")
      ->type_name("NAME,...")
      ->capture_default_str()
      ->each(note("--optimizers"))
      ->group(study_group);
  app.add_option("--seeds", flags.seeds, "seeds separated by commas")
      ->type_name("N,...")
      ->capture_default_str()
      ->each(note("--seeds"))
      ->group(study_group);
  app.add_option("--jobs", flags.jobs,
                 "number of runs at the same time [default: the cores available to this process; unlimited with "
                 "--launcher slurm; one per rank with --launcher mpi]")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->group(study_group);
  std::vector<std::string> names;
  names.reserve(launcher_names().size());
  for (const auto& [kind, name] : launcher_names()) names.emplace_back(name);
  app.add_option("--launcher", flags.launcher,
                 "where to run: local (this machine), slurm (a job array) or mpi (the ranks started by mpirun, srun or "
                 "torchrun)")
      ->type_name("NAME")
      ->check(CLI::IsMember(names))
      ->capture_default_str()
      ->group(study_group);
  app.add_option("--slurm-option", flags.slurm_options,
                 "pass an option to sbatch, for example --slurm-option=--partition=gpu; may be repeated")
      ->type_name("OPTION")
      ->take_all()
      ->allow_extra_args(false)
      ->group(study_group);
  app.add_option("--out", flags.out, "directory of the study [default: runs/COMMAND-TASK-TIME]")
      ->type_name("DIR")
      ->group(study_group);
  app.add_flag("--resume", flags.resume,
               "resume the study in --out: finished runs are kept, stopped runs continue from their checkpoints")
      ->group(study_group);
  app.add_flag("--retry-failed", flags.retry_failed, "with --resume: repeat failed runs")->group(study_group);
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
  config.launcher = value_in(launcher_names(), flags.launcher, "launcher");
  config.slurm_options = flags.slurm_options;
  if (!flags.slurm_options.empty() && config.launcher != study::LauncherKind::slurm) {
    throw UsageError("--slurm-option needs --launcher slurm");
  }
  config.jobs = flags.jobs > 0 ? flags.jobs : default_jobs(config.launcher);
  if (flags.resume && flags.out.empty()) throw UsageError("--resume needs --out, the directory of the study");
  if (flags.retry_failed && !flags.resume) throw UsageError("--retry-failed needs --resume and --out");
  const auto given = plan_flags(flags);
  study::StudyPlan plan;
  if (!flags.study.empty()) {
    if (!flags.tasks.empty() || !given.empty()) {
      throw UsageError(fmt::format("--study sets the tasks and runs; leave out {} or write it to {}",
                                   flags.tasks.empty() ? given.front() : "the task", flags.study));
    }
    plan = study::make_study_plan(study::read_study_file(flags.study));
  } else if (!flags.tasks.empty()) {
    plan = study::make_study_plan({plan_request(flags, default_rates)});
  } else {
    if (!flags.resume) throw UsageError("name a task; `lehi list tasks` lists them");
    if (!given.empty()) {
      throw UsageError(fmt::format(
          "name the task or leave out {}: without a task, --resume takes the study's runs from its directory",
          given.front()));
    }
    return config;
  }
  config.plan = std::move(plan.runs);
  config.second_phases = std::move(plan.second_phases);
  if (config.directory.empty()) {
    const auto what = flags.study.empty() ? base::short_task(config.plan.front().config.task)
                                          : base::safe_name(std::filesystem::path(flags.study).stem().string());
    config.directory = default_out(fmt::format("{}-{}", kind, what));
  }
  return config;
}

}  // namespace lehi::cli
