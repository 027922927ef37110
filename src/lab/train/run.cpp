#include "train/run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "base/clock.h"
#include "base/failure.h"
#include "base/signals.h"
#include "lehi/error.h"
#include "lehi/runtime.h"
#include "runtime/message.h"
#include "train/run_files.h"
#include "train/shared_checkpoint.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/trainer.h"

namespace lehi::train {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double seconds_between_messages = 0.2;
// Below this size a second thread is a risk: MNIST's MLP takes three quarters of the time with it on a quiet machine,
// and more than ten times as long on one where another program keeps a core busy, since each of its short parallel
// parts then waits for the scheduler.
constexpr std::int64_t parameters_worth_threads = 1'000'000;

RunConfig agreed_config(const RunRequest& request, const FoundRun& found) {
  if (!found.config) {
    if (!request.config) {
      throw FileError(fmt::format("{} holds no run to resume: it has no config.toml", request.out.string()));
    }
    return *request.config;
  }
  if (!request.resume) {
    throw_invalid_argument("{} holds a run already; --resume continues it, another --out starts a new one",
                           request.out.string());
  }
  if (!request.config) return *found.config;
  if (const auto text = difference(*found.config, *request.config); !text.empty()) {
    throw FileError(fmt::format("{} holds a different run: {}; choose another --out", request.out.string(), text));
  }
  return *request.config;
}

class Reporter {
 public:
  Reporter(const RunRequest& request, const Trainer& trainer)
      : request_(request), trainer_(trainer), start_(base::seconds_now()), first_step_(trainer.steps()) {}

  void report(const json* evaluation) {
    const double time = base::seconds_now();
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

// What the ranks agree on while a step runs: to stop after it, when one of them has been told to.
class StopVote {
 public:
  explicit StopVote(Ranks* ranks, const base::SignalWatch& signals) {
    if (ranks == nullptr) return;
    votes_ = torch::scalar_tensor(signals.received() == 0 ? 0.0 : 1.0, torch::kFloat64);
    wait_ = ranks->begin_sum(votes_);
  }

  bool result(const base::SignalWatch& signals) const {
    if (!wait_) return signals.received() != 0;
    wait_();
    return votes_.item<double>() > 0.0;
  }

 private:
  torch::Tensor votes_;
  Ranks::Wait wait_;
};

// Rank 0's answer: its clock decides when a checkpoint is due.
bool agreed(bool answer, Ranks* ranks) {
  if (ranks == nullptr) return answer;
  const torch::Tensor value = torch::scalar_tensor(answer ? 1.0 : 0.0, torch::kFloat64);
  ranks->broadcast(value);
  return value.item<double>() > 0.0;
}

// What a rank without a record returns.
RunRecord bare_record(RunStatus status, const std::string& message) {
  RunRecord record;
  record.status = status;
  record.message = message;
  return record;
}

// record: none on the ranks that keep none.
RunOutcome train_to_the_end(const RunRequest& request, const RunConfig& config, Trainer& trainer,
                            std::optional<RunFiles>& record, const base::SignalWatch& signals) {
  Ranks* ranks = request.ranks.get();
  Reporter reporter(request, trainer);
  const auto finish = [&](RunStatus status, const std::string& message) {
    return record ? record->finish(status, message) : bare_record(status, message);
  };
  const auto save_checkpoint = [&] {
    const Checkpoint checkpoint = trainer.checkpoint();
    if (record) record->save(checkpoint);
  };
  bool stop = ranks == nullptr && signals.received() != 0;
  try {
    while (!trainer.finished() && !stop) {
      const StopVote vote(ranks, signals);
      trainer.step();
      stop = vote.result(signals);
      const bool evaluated = trainer.evaluation_due();
      json line;
      if (evaluated) line = trainer.evaluate();
      const double start = base::seconds_now();
      if (evaluated && record) record->add(line);
      if ((evaluated || config.checkpoint_every > 0) && agreed(record && record->checkpoint_due(evaluated), ranks)) {
        save_checkpoint();
      }
      if (record) reporter.report(evaluated ? &line : nullptr);
      trainer.add_record_time(base::seconds_now() - start);
    }
    if (config.keep > 0 && agreed(record && record->last_checkpoint_due(), ranks)) save_checkpoint();
  } catch (const NonFiniteError& error) {
    return {finish(RunStatus::diverged, error.what())};
  }
  if (trainer.finished()) return {finish(RunStatus::done, "")};
  const int signal = signals.received() != 0 ? signals.received() : SIGTERM;  // of another rank
  return {finish(RunStatus::interrupted, fmt::format("stopped by signal {}", signal)), signal};
}

// A run that is over, or its configuration: rank 0's, who has the directory.
struct Beginning {
  RunConfig config;
  std::optional<RunRecord> over;
};

Beginning look_before(const RunRequest& request) {
  const auto look = [&] {
    const FoundRun found = look_at(request.out);
    Beginning beginning{agreed_config(request, found), {}};
    if (found.is_over()) beginning.over = found.record;
    return beginning;
  };
  if (request.ranks == nullptr) return look();
  auto& ranks = *request.ranks;
  Beginning beginning;
  if (ranks.rank() == 0) beginning = look();
  const bool over = agreed(beginning.over.has_value(), &ranks);
  const auto text = ranks.broadcast_string(ranks.rank() == 0 ? to_toml(beginning.config) : "");
  if (ranks.rank() == 0) return beginning;
  beginning.config = from_toml(text, "the configuration of rank 0");
  if (over) beginning.over = bare_record(RunStatus::done, "");
  return beginning;
}

// Of a run that could not begin, nothing stays. config.toml goes last: with it, what a kill leaves can be resumed.
void remove_partial_run(const fs::path& out) {
  try {
    for (const auto& name : list_directory(out)) {
      if (name != "config.toml") fs::remove_all(out / name);
    }
    fs::remove_all(out);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): why the run could not begin is what to tell
  }
}

RunOutcome run_rank(const RunRequest& request) {
  Beginning beginning = look_before(request);
  if (beginning.over) return {*beginning.over, 0, true};
  const RunConfig& config = beginning.config;
  const auto& ranks = request.ranks;
  const bool keeps_record = ranks == nullptr || ranks->rank() == 0;
  const int ranks_here = ranks == nullptr ? 1 : ranks->launch().local_size;
  if (ranks != nullptr && config.distributed.compress == "bfloat16") ranks->round_sums();

  const base::Doing training("train; a smaller model or batch (--batch-size) takes less");
  TaskData data = load_task(config, request.data_dir, request.on_message);
  for (const auto& notice : data.notices) request.on_message(notice);
  check_memory(config, {data.inputs, data.outputs}, runtime::describe_host().memory_bytes / ranks_here);
  Trainer trainer(config, std::move(data), ranks);
  set_threads(config, trainer.parameter_count(), ranks_here);

  // Before anything is written: a signal ends the run in good order from its first file on.
  const base::SignalWatch signals;
  std::optional<DirectoryLock> lock;
  std::optional<RunFiles> record;
  std::optional<FoundCheckpoint> checkpoint;
  std::optional<RunRecord> over;
  FoundRun found;
  bool is_new = false;
  bool begun = false;
  if (keeps_record) {
    is_new = make_directories(request.out);
    lock.emplace(request.out);
    // What was seen before the lock may have changed since.
    found = look_at(request.out);
    if (found.is_over()) over = found.record;
  }
  if (agreed(over.has_value(), ranks.get())) return {over.value_or(bare_record(RunStatus::done, "")), 0, true};
  try {
    if (keeps_record) {
      publish_text(request.out / "config.toml", to_toml(config));
      checkpoint = find_checkpoint(request);
    }
    if (ranks != nullptr) share_checkpoint(checkpoint, *ranks);
    if (checkpoint) trainer.restore(std::move(checkpoint->checkpoint), checkpoint->path.string());
    if (keeps_record) record.emplace(request, config, found, trainer, checkpoint.has_value());
    if (checkpoint) {
      request.on_message(fmt::format("resuming at step {} of {}", trainer.steps(), trainer.total_steps()));
      if (found.record && ranks == nullptr) {
        const auto other = what_changes_bits(found.record->host, runtime::describe_host());
        if (!other.empty()) request.on_message(other);
      }
    }
    begun = true;
    return train_to_the_end(request, config, trainer, record, signals);
  } catch (const std::exception& error) {
    // A full disk, too little memory, a lost rank: the checkpoint that is there stays good, and run.json may still say
    // why.
    if (keeps_record && is_new && !begun) {
      remove_partial_run(request.out);
    } else if (keeps_record) {
      note_failure(request.out, record ? &*record : nullptr, base::sentence_of(error));
    }
    throw;
  }
}

}  // namespace

void set_threads(const RunConfig& config, std::int64_t parameters, int ranks_here) {
  const auto threads = config.threads > 0                      ? config.threads
                       : parameters < parameters_worth_threads ? 1
                                                               : std::max(1, at::get_num_threads() / ranks_here);
  runtime::set_threads(static_cast<int>(threads));
}

RunOutcome run_training(const RunRequest& request) {
  if (request.ranks == nullptr) return run_rank(request);
  try {
    return run_rank(request);
  } catch (const distributed::LostRankError&) {
    throw;
  } catch (const std::exception& error) {
    request.ranks->give_up(base::sentence_of(error));
    throw;
  }
}

}  // namespace lehi::train
