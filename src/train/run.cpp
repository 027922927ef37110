#include "train/run.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <limits>

#include "lehi/error.h"
#include "runtime/blas.h"
#include "runtime/message.h"
#include "runtime/signals.h"
#include "train/checkpoint.h"
#include "train/embedded.h"
#include "train/events.h"
#include "train/metrics_log.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/trainer.h"

namespace lehi::train {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double seconds_between_checkpoints = 5.0;
constexpr double seconds_between_messages = 0.2;
// Below this size a second thread is a risk: MNIST's MLP takes three quarters of the time with it on a quiet machine,
// and more than ten times as long on one where another program keeps a core busy, since each of its short parallel
// parts then waits for the scheduler.
constexpr std::int64_t parameters_worth_threads = 1'000'000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool is_over(RunStatus status) { return status == RunStatus::done || status == RunStatus::diverged; }

// What a directory holds before the run.
struct Found {
  std::optional<RunConfig> config;
  std::optional<RunRecord> record;
};

Found look_at(const fs::path& out) {
  std::error_code error;
  const auto status = fs::status(out, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) throw FileError(fmt::format("{} is no directory; choose another --out", out.string()));
  Found found;
  if (fs::exists(out / "config.toml", error)) found.config = read_config(out / "config.toml");
  if (fs::exists(out / "run.json", error)) {
    found.record = read_run_record(out / "run.json");
    if (!found.config) throw FileError(fmt::format("{} has a run.json but no config.toml", out.string()));
  }
  if (!found.config && !list_directory(out).empty()) {
    throw FileError(fmt::format("{} is not empty and holds no run; choose another --out", out.string()));
  }
  return found;
}

RunConfig agreed_config(const RunRequest& request, const Found& found) {
  if (!found.config) {
    if (!request.config) {
      throw FileError(fmt::format("{} holds no run to resume: it has no config.toml", request.out.string()));
    }
    return *request.config;
  }
  if (!request.resume) {
    refuse("{} holds a run already; --resume continues it, another --out starts a new one", request.out.string());
  }
  if (!request.config) return *found.config;
  if (const auto text = difference(*found.config, *request.config); !text.empty()) {
    throw FileError(fmt::format("{} holds a different run: {}; choose another --out", request.out.string(), text));
  }
  return *request.config;
}

void set_threads(const RunConfig& config, std::int64_t parameters) {
  const auto threads = config.threads > 0                      ? config.threads
                       : parameters < parameters_worth_threads ? 1
                                                               : at::get_num_threads();
  at::set_num_threads(static_cast<int>(threads));
  runtime::set_blas_threads(static_cast<int>(threads));
}

RunRecord new_record(const RunRequest& request, const RunConfig& config, const Trainer& trainer) {
  RunRecord record;
  record.git_hash = source_revision();
  record.host_name = host_name();
  record.host = runtime::describe_host();
  record.command_line = request.command_line;
  record.task = config.task;
  record.preset = config.preset;
  record.optimizer = config.optimizer.name;
  record.lr = config.optimizer.group.lr;
  record.seed = config.seed;
  record.parameters = trainer.parameter_count();
  record.started = utc_now();
  record.notices = trainer.notices();
  return record;
}

// The run's files while it goes on. The order of writing is what makes a resumed run complete: an evaluation's line,
// then a checkpoint that knows of it.
class Record {
 public:
  Record(const RunRequest& request, const RunConfig& config, const Found& found, Trainer& trainer)
      : out_(request.out),
        config_(config),
        trainer_(trainer),
        record_(found.record ? *found.record : new_record(request, config, trainer)),
        metrics_(open_metrics(request)),
        events_(out_, unix_time(record_.started, "run.json"), metrics_.kept()) {
    if (!metrics_.kept().empty()) last_line_ = metrics_.kept().back();
    record_.status = RunStatus::running;
    record_.sessions.push_back(trainer_.steps());
    record_.message.clear();
    record_.finished.clear();
    record_.result = json::object();
    write();
    last_checkpoint_ = now();
  }

  void add(const json& line) {
    metrics_.append(line);
    events_.add(line);
    last_line_ = line;
  }

  bool checkpoint_due(bool evaluated) const {
    if (config_.keep == 0) return false;
    if (config_.checkpoint_every > 0) return trainer_.steps() % config_.checkpoint_every == 0;
    return evaluated && now() - last_checkpoint_ >= seconds_between_checkpoints;
  }

  void save_checkpoint() {
    metrics_.sync();
    if (config_.keep == 0) return;
    train::save_checkpoint(checkpoints(), trainer_.steps(), trainer_.checkpoint());
    prune(checkpoints(), static_cast<int>(config_.keep));
    last_checkpoint_ = now();
  }

  RunRecord finish(RunStatus status, const std::string& message) {
    metrics_.sync();
    record_.status = status;
    record_.message = message;
    record_.finished = utc_now();
    record_.result = trainer_.totals();
    for (const auto& [key, value] : last_line_.items()) {
      if (!record_.result.contains(key) && key != "epoch" && key != "step") record_.result[key] = value;
    }
    write();
    return record_;
  }

 private:
  fs::path checkpoints() const { return out_ / "checkpoints"; }
  void write() const { write_run_record(out_ / "run.json", record_); }

  // Also brings the trainer to where the newest whole checkpoint left it.
  MetricsLog open_metrics(const RunRequest& request) {
    const fs::path path = out_ / "metrics.jsonl";
    remove_leftovers(out_);
    remove_leftovers(checkpoints());
    auto newest = newest_valid(checkpoints());
    for (const auto& text : newest.damaged) request.on_message(text);
    if (!newest.found) return MetricsLog::create(path);
    trainer_.restore(std::move(newest.found->checkpoint), newest.found->path.string());
    request.on_message(fmt::format("resuming at step {} of {}", trainer_.steps(), trainer_.total_steps()));
    return MetricsLog::resume(path, trainer_.steps());
  }

  fs::path out_;
  const RunConfig& config_;
  Trainer& trainer_;
  RunRecord record_;
  MetricsLog metrics_;
  EventLog events_;
  json last_line_ = json::object();
  double last_checkpoint_ = 0.0;
};

class Reporter {
 public:
  Reporter(const RunRequest& request, const Trainer& trainer)
      : request_(request), trainer_(trainer), start_(now()), first_step_(trainer.steps()) {}

  void report(const json* evaluation) {
    const double time = now();
    if (evaluation == nullptr && time - last_ < seconds_between_messages) return;
    last_ = time;
    const auto left = static_cast<double>(trainer_.total_steps() - trainer_.steps());
    const auto taken = static_cast<double>(trainer_.steps() - first_step_);
    request_.on_progress(
        {.step = trainer_.steps(),
         .total = trainer_.total_steps(),
         .epoch = trainer_.epoch(),
         .seconds = trainer_.totals()["seconds"],
         .seconds_left = taken > 0.0 ? (time - start_) / taken * left : 0.0,
         .train_loss = evaluation != nullptr ? evaluation->value("train_loss", 0.0) : trainer_.recent_train_loss(),
         .evaluation = evaluation});
  }

 private:
  const RunRequest& request_;
  const Trainer& trainer_;
  double start_;
  std::int64_t first_step_;
  double last_ = 0.0;
};

RunOutcome train_to_the_end(const RunRequest& request, Trainer& trainer, Record& record,
                            const runtime::SignalWatch& signals) {
  Reporter reporter(request, trainer);
  try {
    while (!trainer.finished() && signals.received() == 0) {
      trainer.step();
      const bool evaluated = trainer.evaluation_due();
      json line;
      if (evaluated) line = trainer.evaluate();
      const double start = now();
      if (evaluated) record.add(line);
      if (record.checkpoint_due(evaluated)) record.save_checkpoint();
      reporter.report(evaluated ? &line : nullptr);
      trainer.add_record_time(now() - start);
    }
  } catch (const NonFiniteError& error) {
    return {record.finish(RunStatus::diverged, error.what())};
  } catch (const FileError& error) {
    // The disk may be full: the checkpoint that is there stays good, and run.json may still say why.
    try {
      record.finish(RunStatus::failed, error.what());
    } catch (const FileError&) {  // NOLINT(bugprone-empty-catch): the first error is the one to tell
    }
    throw;
  }
  record.save_checkpoint();
  if (trainer.finished()) return {record.finish(RunStatus::done, "")};
  return {record.finish(RunStatus::interrupted, fmt::format("stopped by signal {}", signals.received())),
          signals.received()};
}

}  // namespace

RunOutcome run_training(const RunRequest& request) {
  const Found before = look_at(request.out);
  const RunConfig config = agreed_config(request, before);
  if (before.record && is_over(before.record->status)) return {*before.record, 0, true};

  TaskData data = load_task(config, request.data_dir, request.on_message);
  for (const auto& notice : data.notices) request.on_message(notice);
  check_memory(config, {data.inputs, data.outputs}, runtime::describe_host().memory_bytes);
  Trainer trainer(config, std::move(data));
  set_threads(config, trainer.parameter_count());

  // Before anything is written: a signal ends the run in good order from its first file on.
  const runtime::SignalWatch signals;
  std::error_code ignored;
  const bool is_new = !fs::exists(request.out, ignored);
  make_directories(request.out);
  const DirectoryLock lock(request.out);
  // What was seen before the lock may have changed since.
  const Found found = look_at(request.out);
  if (found.record && is_over(found.record->status)) return {*found.record, 0, true};
  std::optional<Record> record;
  try {
    publish_text(request.out / "config.toml", to_toml(config));
    record.emplace(request, config, found, trainer);
  } catch (const FileError&) {
    if (is_new) fs::remove_all(request.out, ignored);
    throw;
  }
  return train_to_the_end(request, trainer, *record, signals);
}

}  // namespace lehi::train
