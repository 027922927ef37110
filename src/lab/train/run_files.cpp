#include "train/run_files.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "files/files.h"
#include "train/embedded.h"

namespace lehi::train {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double seconds_between_checkpoints = 5.0;

fs::path checkpoints_of(const fs::path& out) { return out / "checkpoints"; }

RunRecord new_record(const RunRequest& request, const RunConfig& config, const runtime::Host& host,
                     const Trainer& trainer) {
  RunRecord record;
  record.git_hash = source_revision();
  record.host_name = host_name();
  record.host = host;
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

}  // namespace

RunFiles::RunFiles(const RunRequest& request, const RunConfig& config, const FoundRun& found, const runtime::Host& host,
                   const Trainer& trainer, bool resumed)
    : out_(request.out),
      config_(config),
      trainer_(trainer),
      ranks_(request.ranks.get()),
      record_(found.record ? *found.record : new_record(request, config, host, trainer)),
      metrics_(resumed ? MetricsLog::resume(out_ / "metrics.jsonl", trainer.steps())
                       : MetricsLog::create(out_ / "metrics.jsonl")),
      events_(out_, unix_time(record_.started, "run.json"), metrics_.kept()),
      last_checkpoint_(base::seconds_now()) {
  if (!metrics_.kept().empty()) last_line_ = metrics_.kept().back();
  if (resumed) saved_step_ = trainer_.steps();
  record_.status = RunStatus::running;
  record_.sessions.push_back(trainer_.steps());
  record_.message.clear();
  record_.finished.clear();
  record_.result = json::object();
  // A run that was killed after it wrote a checkpoint and before it removed an old one has one too many.
  if (resumed && config_.keep > 0) prune(checkpoints_of(out_), static_cast<int>(config_.keep));
  write();
}

void RunFiles::write() const { write_run_record(out_ / "run.json", record_); }

void RunFiles::add(const json& line) {
  metrics_.append(line);
  events_.add(line);
  last_line_ = line;
}

bool RunFiles::checkpoint_due(bool evaluated) const {
  if (config_.keep == 0) return false;
  if (config_.checkpoint_every > 0) return trainer_.steps() % config_.checkpoint_every == 0;
  return evaluated && base::seconds_now() - last_checkpoint_ >= seconds_between_checkpoints;
}

void RunFiles::save(const Checkpoint& checkpoint) {
  metrics_.sync();
  save_checkpoint(checkpoints_of(out_), trainer_.steps(), checkpoint);
  saved_step_ = trainer_.steps();
  prune(checkpoints_of(out_), static_cast<int>(config_.keep));
  last_checkpoint_ = base::seconds_now();
}

bool RunFiles::last_checkpoint_due() const { return config_.keep > 0 && saved_step_ != trainer_.steps(); }

RunRecord RunFiles::finish(RunStatus status, const std::string& message) {
  metrics_.sync();
  record_.status = status;
  record_.message = message;
  record_.finished = utc_now();
  record_.result = trainer_.totals();
  for (const auto& [key, value] : last_line_.items()) {
    if (!record_.result.contains(key) && key != "epoch" && key != "step") record_.result[key] = value;
  }
  if (ranks_ != nullptr) {
    record_.result["ranks"] = ranks_->size();
    record_.result["summed_bytes"] = ranks_->traffic().summed;
    record_.result["gathered_bytes"] = ranks_->traffic().gathered;
  }
  write();
  return record_;
}

void record_failure(const fs::path& out, RunFiles* files, const std::string& message) {
  try {
    auto record = read_run_record(out / "run.json");
    if (record.status != RunStatus::running) return;
    if (files != nullptr) {
      files->finish(RunStatus::failed, message);
      return;
    }
    record.status = RunStatus::failed;
    record.message = message;
    record.finished = utc_now();
    write_run_record(out / "run.json", record);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the error that ended the run is reported instead
  }
}

}  // namespace lehi::train
