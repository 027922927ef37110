#include "train/training_loop.h"

#include <fmt/format.h>

#include <csignal>

#include "base/clock.h"
#include "lehi/error.h"
#include "train/run_progress.h"
#include "train/run_ranks.h"

namespace lehi::train {

RunOutcome run_training_loop(const RunRequest& request, const RunConfig& config, Trainer& trainer,
                             std::optional<RunFiles>& files, const base::SignalWatch& signals) {
  Ranks* ranks = request.ranks.get();
  ProgressReporter progress(request, trainer);
  const auto finish = [&](RunStatus status, const std::string& message) {
    return files ? files->finish(status, message) : record_without_file(status, message);
  };
  const auto save_checkpoint = [&] {
    const Checkpoint checkpoint = trainer.checkpoint();  // on every rank: each has a part of the state
    if (files) files->save(checkpoint);
  };
  bool stop = ranks == nullptr && signals.received() != 0;
  try {
    while (!trainer.finished() && !stop) {
      const StopVote vote(ranks, signals);
      trainer.step();
      stop = vote.result(signals);
      const bool evaluated = trainer.evaluation_due();
      nlohmann::json line;
      if (evaluated) line = trainer.evaluate();
      const double start = base::seconds_now();
      if (evaluated && files) files->add(line);
      if ((evaluated || config.checkpoint_every > 0) &&
          rank0_decides(files && files->checkpoint_due(evaluated), ranks)) {
        save_checkpoint();
      }
      if (files) progress.report(evaluated ? &line : nullptr);
      trainer.add_record_time(base::seconds_now() - start);
    }
    if (config.keep > 0 && rank0_decides(files && files->last_checkpoint_due(), ranks)) save_checkpoint();
  } catch (const NonFiniteError& error) {
    return {finish(RunStatus::diverged, error.what())};
  }
  if (trainer.finished()) return {finish(RunStatus::done, "")};
  const int signal = signals.received() != 0 ? signals.received() : SIGTERM;  // another rank received it
  return {finish(RunStatus::interrupted, fmt::format("stopped by signal {}", signal)), signal};
}

}  // namespace lehi::train
