#include "cli/train.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "base/duration.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/rank_arguments.h"
#include "cli/run_flags.h"
#include "cli/train_output.h"
#include "distributed/launch.h"
#include "distributed/local_ranks.h"
#include "distributed/process_ranks.h"
#include "files/files.h"
#include "train/run.h"

namespace lehi::cli {

using train::RunStatus;

TrainConfig parse_train(const Arguments& arguments) {
  TrainConfig config;
  config.arguments = arguments;
  RunFlags flags;
  std::string progress = "people";
  CLI::App app("Train a model on a task with one optimizer and record the run in a directory.", "lehi train");
  app.add_option("TASK", flags.task, std::string(task_help) + "; not needed with --resume");
  add_run_flags(app, flags);
  add_key_flag(app, flags, run_group, {"--seed", "N", "seed"});
  const std::string ranks_group = "Data-parallel training";
  app.add_option("--nproc", config.processes, "number of processes to start on this machine")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(ranks_group);
  app.add_option("--backend", config.backend, "communication backend of LibTorch")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(ranks_group);
  app.add_option("--rank-timeout", config.rank_timeout, "seconds without a heartbeat after which a rank is lost")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str()
      ->group(ranks_group);
  app.add_flag_callback(
         "--shard-optimizer",
         [&flags] {
           flags.own.push_back({"distributed.shard_optimizer", "true", "--shard-optimizer"});
         },
         "divide the optimizer's state among the ranks; the results are the same, bit for bit")
      ->group(ranks_group);
  add_key_flag(app, flags, ranks_group, {"--compress", "TYPE", "distributed.compress"});
  add_key_flag(app, flags, ranks_group, {"--bucket-mb", "MB", "distributed.bucket_mb"});
  const std::string record_group = "Record";
  add_key_flag(app, flags, record_group, {"--checkpoint-every", "N", "checkpoint.every"});
  add_key_flag(app, flags, record_group, {"--keep", "N", "checkpoint.keep"});
  const std::vector<KeyFlag> optimizer_flags = {{"--optimizer", "NAME", "optimizer.name"},
                                                {"--lr", "RATE", "optimizer.lr"},
                                                {"--beta1", "B1", "optimizer.beta1"},
                                                {"--beta2", "B2", "optimizer.beta2"},
                                                {"--eps", "EPS", "optimizer.eps"},
                                                {"--weight-decay", "W", "optimizer.weight_decay"},
                                                {"--momentum", "M", "optimizer.momentum"},
                                                {"--rho", "RHO", "optimizer.rho"},
                                                {"--clip-norm", "X", "optimizer.clip_norm"},
                                                {"--probe", "PROBE", "optimizer.probe"},
                                                {"--scale", "SCALE", "optimizer.scale"},
                                                {"--mix", "MIX", "optimizer.mix"},
                                                {"--refresh-every", "N", "optimizer.refresh_every"},
                                                {"--dense", "N", "optimizer.dense"}};
  for (const auto& key_flag : optimizer_flags) add_key_flag(app, flags, run_optimizer_group, key_flag);
  app.add_option("--out", config.out, "directory of the run [default: runs/TASK-OPTIMIZER-seedS-TIME]")
      ->type_name("DIR")
      ->group(record_group);
  app.add_flag("--resume", config.resume,
               "resume the run in --out from its newest checkpoint; the results are those of an uninterrupted run, bit "
               "for bit")
      ->group(record_group);
  app.add_flag("--json", config.json, "print run.json instead of a summary")->group(record_group);
  app.add_option("--progress", progress,
                 "people (progress on standard error), lines (JSON lines on standard output) or none")
      ->type_name("HOW")
      ->check(CLI::IsMember({"people", "lines", "none"}))
      ->capture_default_str()
      ->group(record_group);
  app.footer(
      "Examples:\n"
      "  lehi train fashion-mnist --optimizer lehi --preset small\n"
      "  lehi train mnist --optimizer adamw --lr 3e-4 --seed 1 --out runs/a\n"
      "  lehi train --resume --out runs/a\n"
      "  lehi train csv:houses.csv --target price --optimizer lehi-gn --set rate.schedule=cosine\n"
      "  lehi train mnist --nproc 2 --out runs/b\n"
      "  torchrun --no-python --nproc_per_node=2 --max-restarts=3 lehi train mnist --out runs/c\n"
      "  mpirun -n 2 lehi train mnist --out runs/d\n"
      "\n"
      "Ctrl-C finishes the current step, saves a checkpoint and exits with code 130;\n"
      "--resume continues the run.");
  parse_arguments(app, arguments);
  config.data_dir = flags.data_dir;
  config.progress = progress == "lines"  ? ProgressStyle::lines
                    : progress == "none" ? ProgressStyle::none
                                         : ProgressStyle::terminal;
  check_nproc(config.processes);
  if (config.resume && config.out.empty()) throw UsageError("--resume needs --out, the directory of the run");
  if (!flags.task.empty()) {
    config.run = train::resolve(config_request(flags));
    if (config.out.empty()) {
      config.out = default_out(fmt::format("{}-{}-seed{}", base::short_task(config.run->task),
                                           config.run->optimizer.name, config.run->seed));
    }
  } else if (!config.resume) {
    throw UsageError("name a task; `lehi list tasks` lists them");
  } else if (!flags.own.empty() || !flags.set.empty() || !flags.file.empty() || !flags.preset.empty()) {
    throw UsageError(
        "name the task or leave out the flags of the configuration: without a task, --resume takes the configuration "
        "from the run's directory");
  }
  return config;
}

namespace {

// Connects to the other ranks. Null if no launcher has started several.
std::shared_ptr<distributed::ProcessRanks> join_ranks(const TrainConfig& config) {
  const auto launch = distributed::launch_of_process();
  if (!launch) return nullptr;
  return distributed::join(*launch, {.backend = config.backend,
                                     .limit = std::chrono::milliseconds(std::llround(1000.0 * config.rank_timeout))});
}

int run_train(const TrainConfig& config, const std::shared_ptr<distributed::ProcessRanks>& ranks, std::ostream& out,
              std::ostream& err) {
  const bool prints = ranks == nullptr || ranks->rank() == 0;
  TerminalProgress terminal(err);
  train::RunRequest request;
  request.ranks = ranks;
  request.config = config.run;
  request.out = config.out;
  request.data_dir = config.data_dir;
  // torchrun restarts all ranks after one was lost.
  const bool restarted = ranks != nullptr && ranks->launch().attempt > 0;
  request.resume = config.resume || restarted;
  request.command_line = {"lehi", "train"};
  request.command_line.insert(request.command_line.end(), config.arguments.begin(), config.arguments.end());
  request.on_message = [&](const std::string& message) {
    if (prints) err << "lehi: " << message << '\n';
  };
  request.on_progress = [&](const train::RunProgress& progress) {
    if (config.progress == ProgressStyle::terminal) terminal.show(progress);
    if (config.progress == ProgressStyle::lines) print_progress_line(progress, out);
  };
  const auto outcome = train::run_training(request);
  terminal.end_line();
  const auto& record = outcome.record;
  if (!prints) {
    if (outcome.signal != 0) return 128 + outcome.signal;
    return record.status == RunStatus::diverged ? diverged : done;
  }
  if (outcome.was_over) err << fmt::format("lehi: the run in {} has already ended\n", config.out);
  if (config.json) {
    out << read_text(std::filesystem::path(config.out) / "run.json", 1 << 26);
  } else if (config.progress != ProgressStyle::lines) {
    print_run_summary(record, config.out, out);
  }
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped after step {}; `lehi train --resume --out {}` continues the run\n",
                       record.result.value("steps", 0), config.out);
    return 128 + outcome.signal;
  }
  return record.status == RunStatus::diverged ? diverged : done;
}

}  // namespace

int run_train(const TrainConfig& config, std::ostream& out, std::ostream& err) {
  if (config.processes > 1) {
    return distributed::run_local_ranks(config.processes, config.program, rank_arguments("train", config.arguments));
  }
  const auto ranks = join_ranks(config);
  if (ranks == nullptr) return run_train(config, ranks, out, err);
  try {
    return run_train(config, ranks, out, err);
  } catch (const distributed::LostRankError& error) {
    err << "lehi: " << error.what() << "; --resume continues from the last checkpoint\n" << std::flush;
    out.flush();
    // A normal exit would wait for threads of c10d, which wait for the lost rank.
    std::_Exit(internal_error);
  }
}

}  // namespace lehi::cli
