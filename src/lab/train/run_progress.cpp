#include "train/run_progress.h"

#include "base/clock.h"

namespace lehi::train {
namespace {

constexpr double seconds_between_reports = 0.2;

}  // namespace

ProgressReporter::ProgressReporter(const RunRequest& request, const Trainer& trainer)
    : request_(request), trainer_(trainer), start_(base::seconds_now()), first_step_(trainer.steps()) {}

void ProgressReporter::report(const nlohmann::json* evaluation) {
  const double time = base::seconds_now();
  if (evaluation == nullptr && time - last_ < seconds_between_reports) return;
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

}  // namespace lehi::train
