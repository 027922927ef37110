#include "cli/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/duration.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/rank_arguments.h"
#include "cli/run_flags.h"
#include "cli/table.h"
#include "distributed/launch.h"
#include "distributed/local_ranks.h"
#include "distributed/process_ranks.h"
#include "files/files.h"
#include "train/json_file.h"
#include "train/run.h"

namespace lehi::cli {
namespace {

using train::RunStatus;

std::string short_time(double seconds) {
  return seconds < 10.0 ? fmt::format("{:.1f} s", seconds) : base::duration_text(seconds);
}

// One line that is redrawn on a terminal; elsewhere one line an evaluation, at most every two seconds.
class TerminalProgress {
 public:
  explicit TerminalProgress(std::ostream& err) : err_(err), terminal_(is_terminal(err)) {}

  void show(const train::RunProgress& progress) {
    if (progress.evaluation != nullptr) {
      scores_.clear();
      for (const char* key : {"validation_loss", "validation_accuracy", "test_loss", "test_accuracy"}) {
        if (const auto found = progress.evaluation->find(key);
            found != progress.evaluation->end() && found->is_number()) {
          scores_ += fmt::format("  {} {:.4g}", key, found->get<double>());
        }
      }
    }
    const bool last = progress.step == progress.total;
    if (!terminal_ && (progress.evaluation == nullptr || (progress.seconds - shown_ < 2.0 && !last))) return;
    shown_ = progress.seconds;
    const double percent = 100.0 * static_cast<double>(progress.step) / static_cast<double>(progress.total);
    const std::string line = fmt::format("{:3.0f} %  epoch {}  step {}/{}  train_loss {:.4g}{}  {} gone, {} left",
                                         percent, progress.epoch, progress.step, progress.total, progress.train_loss,
                                         scores_, short_time(progress.seconds), short_time(progress.seconds_left));
    if (terminal_) {
      err_ << '\r' << line << "\x1b[K" << std::flush;
      open_ = true;
    } else {
      err_ << line << '\n' << std::flush;
    }
  }

  void end_line() {
    if (open_) err_ << '\n';
    open_ = false;
  }

 private:
  std::ostream& err_;
  bool terminal_;
  bool open_ = false;
  double shown_ = -1e9;
  std::string scores_;
};

void print_line(const train::RunProgress& progress, std::ostream& out) {
  const nlohmann::json line = {{"step", progress.step},
                               {"total", progress.total},
                               {"epoch", progress.epoch},
                               {"seconds", progress.seconds},
                               {"train_loss", progress.train_loss}};
  out << train::to_text(line) << '\n' << std::flush;
}

void print_summary(const train::RunRecord& record, const std::string& directory, std::ostream& out) {
  const auto& result = record.result;
  const auto number = [&](const char* key) {
    const auto found = result.find(key);
    return found != result.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  std::vector<std::vector<std::string>> rows = {{"run", directory}};
  rows.push_back({"status", std::string(train::status_name(record.status)) +
                                (record.message.empty() ? "" : fmt::format(" ({})", record.message))});
  rows.push_back({"steps", fmt::format("{} ({:.4g} epochs)", number("steps"), number("epochs"))});
  for (const char* key : {"train_loss", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy"}) {
    if (!std::isnan(number(key))) rows.push_back({key, short_number(number(key), 6)});
  }
  rows.push_back({"time", short_time(number("seconds"))});
  if (const auto split = result.find("split"); split != result.end() && number("seconds") > 0.0) {
    const auto part = [&](const char* key) { return 100.0 * split->value(key, 0.0) / number("seconds"); };
    rows.push_back({"of it", fmt::format("step {:.1f} %, batch {:.1f} %, evaluate {:.1f} %, record {:.1f} %",
                                         part("step"), part("batch"), part("evaluate"), part("record"))});
  }
  rows.push_back({"peak memory", fmt::format("{:.0f} MB", number("peak_memory_bytes") / 1e6)});
  for (const auto& notice : record.notices) rows.push_back({"notice", notice});
  for (const auto& row : rows) out << fmt::format("{:<20} {}\n", row[0], row[1]);
}

}  // namespace

TrainConfig parse_train(const Arguments& arguments) {
  TrainConfig config;
  config.arguments = arguments;
  RunFlags flags;
  std::string progress = "people";
  CLI::App app("Trains one optimizer on one task and keeps a record of the run.", "lehi train");
  app.add_option("task", flags.task,
                 "a name of `lehi list tasks`, csv:FILE with --target, or text:FILE; not needed with --resume");
  add_run_flags(app, flags);
  add_key_flag(app, flags, "--seed", "seed", "Run");
  const std::string several = "Several processes";
  app.add_option("--nproc", config.processes, "train with so many processes of this machine, as one")
      ->check(CLI::Range(1, 1024))
      ->group(several);
  app.add_option("--backend", config.backend, "how ranks talk: gloo, or what else LibTorch was built with")
      ->capture_default_str()
      ->group(several);
  app.add_option("--rank-timeout", config.rank_timeout, "seconds without a sign of life after which a rank is lost")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str()
      ->group(several);
  app.add_flag_callback(
         "--shard-optimizer",
         [&flags] {
           flags.own.push_back({"distributed.shard_optimizer", "true", "--shard-optimizer"});
         },
         "each rank keeps its own part of the optimizer's state only; the same bits")
      ->group(several);
  add_key_flag(app, flags, "--compress", "distributed.compress", several);
  add_key_flag(app, flags, "--bucket-mb", "distributed.bucket_mb", several);
  add_key_flag(app, flags, "--checkpoint-every", "checkpoint.every", "Record");
  add_key_flag(app, flags, "--keep", "checkpoint.keep", "Record");
  const std::vector<std::pair<std::string, std::string>> optimizer_flags = {{"--optimizer", "name"},
                                                                            {"--lr", "lr"},
                                                                            {"--beta1", "beta1"},
                                                                            {"--beta2", "beta2"},
                                                                            {"--eps", "eps"},
                                                                            {"--rho", "rho"},
                                                                            {"--probe", "probe"},
                                                                            {"--weight-decay", "weight_decay"},
                                                                            {"--momentum", "momentum"},
                                                                            {"--scale", "scale"},
                                                                            {"--mix", "mix"},
                                                                            {"--refresh-every", "refresh_every"},
                                                                            {"--clip-norm", "clip_norm"},
                                                                            {"--dense", "dense"}};
  for (const auto& [flag, key] : optimizer_flags) add_key_flag(app, flags, flag, "optimizer." + key, "Optimizer");
  app.add_option("--out", config.out, "the run's directory; default: runs/TASK-OPTIMIZER-seedS-TIME")->group("Record");
  app.add_flag("--resume", config.resume, "go on with the run in --out, with the same bits as if it had never stopped")
      ->group("Record");
  app.add_flag("--json", config.json, "print run.json instead of a summary")->group("Record");
  app.add_option("--progress", progress, "people: on standard error; lines: JSON on standard output; none")
      ->check(CLI::IsMember({"people", "lines", "none"}))
      ->group("Record");
  app.footer(
      "Examples:\n"
      "  lehi train fashion-mnist --optimizer lehi --preset small\n"
      "  lehi train mnist --optimizer adamw --lr 3e-4 --seed 1 --out runs/a\n"
      "  lehi train --resume --out runs/a\n"
      "  lehi train csv:houses.csv --target price --optimizer lehi-gn --set rate.schedule=cosine\n"
      "  lehi train mnist --nproc 2 --out runs/b\n"
      "  torchrun --no-python --nproc_per_node=2 --max-restarts=3 lehi train mnist --out runs/c\n"
      "  mpirun -n 2 lehi train mnist --out runs/d\n\n"
      "Ctrl-C finishes the step, saves and exits with 130; `--resume` goes on from there.");
  parse_arguments(app, arguments);
  config.data_dir = flags.data_dir;
  config.progress = progress == "lines"  ? ProgressStyle::lines
                    : progress == "none" ? ProgressStyle::none
                                         : ProgressStyle::people;
  refuse_nproc_under_launcher(config.processes);
  if (config.resume && config.out.empty()) throw UsageError("--resume needs --out, the directory of the run.");
  if (!flags.task.empty()) {
    config.run = train::resolve(config_request(flags));
    if (config.out.empty()) {
      config.out = default_out(fmt::format("{}-{}-seed{}", base::short_task(config.run->task),
                                           config.run->optimizer.name, config.run->seed));
    }
  } else if (!config.resume) {
    throw UsageError("name a task; `lehi list tasks` shows them.");
  } else if (!flags.own.empty() || !flags.set.empty() || !flags.file.empty() || !flags.preset.empty()) {
    throw UsageError("name the task too: without it --resume takes the configuration of the directory as it is.");
  }
  return config;
}

namespace {

// The ranks, where a launcher has started several.
std::shared_ptr<distributed::ProcessRanks> join_ranks(const TrainConfig& config) {
  const auto launch = distributed::launch_of_process();
  if (!launch) return nullptr;
  return distributed::join(*launch, {.backend = config.backend,
                                     .limit = std::chrono::milliseconds(std::llround(1000.0 * config.rank_timeout))});
}

int run_train(const TrainConfig& config, const std::shared_ptr<distributed::ProcessRanks>& ranks, std::ostream& out,
              std::ostream& err) {
  const bool speaks = ranks == nullptr || ranks->rank() == 0;
  TerminalProgress people(err);
  train::RunRequest request;
  request.ranks = ranks;
  request.config = config.run;
  request.out = config.out;
  request.data_dir = config.data_dir;
  // torchrun has started the ranks anew because one of them was lost.
  const bool restarted = ranks != nullptr && ranks->launch().attempt > 0;
  request.resume = config.resume || restarted;
  request.command_line = {"lehi", "train"};
  request.command_line.insert(request.command_line.end(), config.arguments.begin(), config.arguments.end());
  request.on_message = [&](const std::string& text) {
    if (speaks) err << "lehi: " << text << '\n';
  };
  request.on_progress = [&](const train::RunProgress& progress) {
    if (config.progress == ProgressStyle::people) people.show(progress);
    if (config.progress == ProgressStyle::lines) print_line(progress, out);
  };
  const auto outcome = train::run_training(request);
  people.end_line();
  const auto& record = outcome.record;
  if (!speaks) {
    if (outcome.signal != 0) return 128 + outcome.signal;
    return record.status == RunStatus::diverged ? diverged : done;
  }
  if (outcome.was_over) err << fmt::format("lehi: the run in {} is over already\n", config.out);
  if (config.json) {
    out << read_text(std::filesystem::path(config.out) / "run.json", 1 << 26);
  } else if (config.progress != ProgressStyle::lines) {
    print_summary(record, config.out, out);
  }
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped after step {}; `lehi train --resume --out {}` goes on\n",
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
    err << "lehi: " << error.what() << "; the last checkpoint is good, and --resume goes on from there\n" << std::flush;
    out.flush();
    // Threads of c10d still wait for that rank, and would not let the program end.
    std::_Exit(internal_error);
  }
}

}  // namespace lehi::cli
