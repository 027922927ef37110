#include "train/run.h"

#include <fmt/format.h>

#include "base/failure.h"
#include "base/signals.h"
#include "files/files.h"
#include "lehi/runtime.h"
#include "train/broadcast_checkpoint.h"
#include "train/found_run.h"
#include "train/run_files.h"
#include "train/run_ranks.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/threads.h"
#include "train/trainer.h"
#include "train/training_loop.h"

namespace lehi::train {
namespace {

struct RunStart {
  RunConfig config;
  std::optional<RunRecord> over;  ///< of a run that has ended: nothing is left to do
};

// What to train, before anything is loaded or written. Rank 0 reads the directory; the other ranks get its answer.
RunStart begin_run(const RunRequest& request) {
  const auto read_directory = [&] {
    const FoundRun found = find_run(request.out);
    RunStart start{config_to_use(request, found), {}};
    if (found.is_over()) start.over = found.record;
    return start;
  };
  if (request.ranks == nullptr) return read_directory();
  auto& ranks = *request.ranks;
  RunStart start;
  if (ranks.rank() == 0) start = read_directory();
  const bool over = rank0_decides(start.over.has_value(), &ranks);
  const auto text = ranks.broadcast_string(ranks.rank() == 0 ? to_toml(start.config) : "");
  if (ranks.rank() == 0) return start;
  start.config = from_toml(text, "the configuration of rank 0");
  if (over) start.over = record_without_file(RunStatus::done, "");
  return start;
}

// Messages for the user when a run resumes from a checkpoint.
void report_resumption(const RunRequest& request, const FoundRun& found, const runtime::Host& host,
                       const Trainer& trainer) {
  request.on_message(fmt::format("resuming at step {} of {}", trainer.steps(), trainer.total_steps()));
  if (!found.record || request.ranks != nullptr) return;
  const auto differences = rounding_differences(found.record->host, host);
  if (!differences.empty()) request.on_message(differences);
}

RunOutcome run_rank(const RunRequest& request) {
  const RunStart start = begin_run(request);
  if (start.over) return {*start.over, 0, true};
  const RunConfig& config = start.config;
  const auto& ranks = request.ranks;
  const bool keeps_record = ranks == nullptr || ranks->rank() == 0;
  const int ranks_here = ranks == nullptr ? 1 : ranks->launch().local_size;
  if (ranks != nullptr && config.distributed.compress == "bfloat16") ranks->round_sums();

  const base::Activity training("train; a smaller model or batch (--batch-size) needs less");
  TaskData data = load_task(config, request.data_dir, request.on_message);
  for (const auto& notice : data.notices) request.on_message(notice);
  runtime::Host host = runtime::describe_host();
  check_memory(config, {data.inputs, data.outputs}, ranks == nullptr ? 1 : ranks->size(),
               host.memory_bytes / ranks_here);
  Trainer trainer(config, std::move(data), ranks);
  host.torch_threads = set_threads(config, trainer.parameter_count(), ranks_here);

  // Before anything is written: from the first file on, a signal stops the run cleanly.
  const base::SignalWatch signals;
  std::optional<DirectoryLock> lock;
  std::optional<RunFiles> files;
  std::optional<FoundCheckpoint> checkpoint;
  std::optional<RunRecord> over;
  FoundRun found;
  bool is_new = false;
  bool begun = false;
  if (keeps_record) {
    is_new = make_directories(request.out);
    lock.emplace(request.out);
    // Again: another process may have changed the directory before it was locked.
    found = find_run(request.out);
    if (found.is_over()) over = found.record;
  }
  if (rank0_decides(over.has_value(), ranks.get())) {
    return {over.value_or(record_without_file(RunStatus::done, "")), 0, true};
  }
  try {
    if (keeps_record) {
      publish_text(request.out / "config.toml", to_toml(config));
      checkpoint = find_checkpoint(request);
    }
    if (ranks != nullptr) broadcast_checkpoint(checkpoint, *ranks);
    if (checkpoint) trainer.restore(std::move(checkpoint->checkpoint), checkpoint->path.string());
    if (keeps_record) files.emplace(request, config, found, host, trainer, checkpoint.has_value());
    if (checkpoint) report_resumption(request, found, host, trainer);
    begun = true;
    return run_training_loop(request, config, trainer, files, signals);
  } catch (const std::exception& error) {
    // A full disk, too little memory, a lost rank: existing checkpoints stay valid.
    if (keeps_record && is_new && !begun) {
      remove_partial_run(request.out);
    } else if (keeps_record) {
      record_failure(request.out, files ? &*files : nullptr, base::one_line_message(error));
    }
    throw;
  }
}

}  // namespace

RunOutcome run_training(const RunRequest& request) {
  if (request.ranks == nullptr) return run_rank(request);
  try {
    return run_rank(request);
  } catch (const distributed::LostRankError&) {
    throw;
  } catch (const std::exception& error) {
    request.ranks->give_up(base::one_line_message(error));
    throw;
  }
}

}  // namespace lehi::train
