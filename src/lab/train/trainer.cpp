#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "data/permutation.h"
#include "lehi/error.h"
#include "lehi/runtime.h"
#include "runtime/message.h"
#include "train/evaluate.h"
#include "train/share.h"
#include "train/task_model.h"
#include "train/weights.h"

namespace lehi::train {

using nlohmann::json;
using torch::Tensor;

namespace {

constexpr double spike = 10.0;  // the paper's limit for the largest entry of a gradient

double ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// A whole number as an integer: 3, not 3.0.
json short_json(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

Trainer::Trainer(RunConfig config, TaskData data, std::shared_ptr<Ranks> ranks)
    : config_(std::move(config)),
      data_(std::move(data)),
      model_(make_model(config_, {data_.inputs, data_.outputs})),
      loss_(loss_of(data_.prediction, *model_, config_.model.chunk)),
      ranks_(std::move(ranks)),
      optimizer_(model_->named_parameters(), model::options_for(*model_, config_.optimizer)),
      steps_per_epoch_((data_.train.size + config_.batch_size - 1) / config_.batch_size) {
  if (!config_.init_from.empty()) load_weights(config_.init_from, model_->named_parameters());
  const Recipe& recipe = config_.optimizer.recipe;
  if (!loss_->supports(recipe.probe)) {
    throw_invalid_argument(
        "task {} is trained with the {} loss, which has no {} probe; choose another optimizer or probe", config_.task,
        loss_->name(), name(recipe.probe));
  }
  constexpr std::int64_t most_steps = std::int64_t{1} << 40;
  if (config_.epochs > most_steps / steps_per_epoch_ || config_.steps > most_steps) {
    throw_invalid_argument("the run would take more than {} steps", most_steps);
  }
  total_steps_ = config_.steps > 0 ? config_.steps : config_.epochs * steps_per_epoch_;
  if (ranks_ == nullptr) return;
  const torch::NoGradGuard no_grad;
  for (const auto& item : model::saved_tensors(*model_)) ranks_->broadcast(item.value().detach());
  model_->share_statistics(ranks_.get());
  constexpr double megabyte = 1 << 20;
  optimizer_.distribute(ranks_, {.bucket_bytes = static_cast<std::int64_t>(config_.distributed.bucket_mb * megabyte),
                                 .shard_state = config_.distributed.shard_optimizer});
}

std::int64_t Trainer::epoch() const { return steps_ == 0 ? 1 : (steps_ - 1) / steps_per_epoch_ + 1; }

bool Trainer::evaluation_due() const {
  const std::int64_t every = config_.evaluate_every > 0 ? config_.evaluate_every : steps_per_epoch_;
  return steps_ > 0 && (finished() || steps_ % every == 0);
}

double Trainer::recent_train_loss() const { return interval_.mean_loss(); }

void Trainer::prepare_epoch(std::int64_t epoch) {
  if (epoch == ordered_epoch_) return;
  order_ = torch::tensor(data::epoch_order(data_.train.size, config_.seed, epoch), torch::kInt64);
  ordered_epoch_ = epoch;
}

// Copies the rows first, first + 1, ... of the epoch's order.
void Trainer::take_batch(std::int64_t first, std::int64_t rows) {
  data_.train.take(order_.narrow(0, first, rows), ordered_epoch_, inputs_, targets_);
}

void Trainer::step() {
  const torch::NoGradGuard no_grad;
  const std::int64_t first = steps_ % steps_per_epoch_ * config_.batch_size;
  const std::int64_t rows = std::min(config_.batch_size, data_.train.size - first);  // of all ranks
  const Share own = ranks_ == nullptr ? Share{0, rows} : share_of(rows, ranks_->rank(), ranks_->size());
  const double before = time_.batch + time_.step;
  {
    const Stopwatch watch(time_.batch);
    prepare_epoch(steps_ / steps_per_epoch_);
    take_batch(first + own.first, own.length);
  }
  {
    const Stopwatch watch(time_.step);
    if (config_.rate.shape != RateShape::constant || config_.rate.warmup > 0) {
      const double fraction = rate_fraction(config_.rate, steps_ + 1, total_steps_);
      for (auto& group : optimizer_.param_groups()) group.options().set_lr(config_.optimizer.group.lr * fraction);
    }
    // The same number on every rank: batch normalisation sums over the ranks in each micro-batch.
    const std::int64_t least = ranks_ == nullptr ? rows : std::max<std::int64_t>(1, rows / ranks_->size());
    const std::int64_t parts = std::min(config_.accumulate, least);
    RandomKey key{.seed = config_.seed,
                  .step = static_cast<std::uint64_t>(steps_ + 1),
                  .first_row = static_cast<std::uint64_t>(own.first)};
    optimizer_.set_first_row(own.first);
    if (parts == 1) {
      optimizer_.step(model_->forward(inputs_, key), *loss_, targets_);
    } else {
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t from = part * own.length / parts;
        const std::int64_t length = (part + 1) * own.length / parts - from;
        key.first_row = static_cast<std::uint64_t>(own.first + from);
        optimizer_.accumulate(model_->forward(inputs_.narrow(0, from, length), key), *loss_,
                              targets_.narrow(0, from, length));
      }
      optimizer_.step();
    }
    const StepReport& report = optimizer_.report();
    if (report.skipped && config_.optimizer.update_during_pull_back) {
      throw NonFiniteError(fmt::format("step {}: the predictions are not finite", steps_ + 1));
    }
    interval_.loss += report.value * static_cast<double>(rows);
    interval_.rows += static_cast<double>(rows);
    interval_.gradient = std::max(interval_.gradient, report.gradient_inf_norm);
    if (!(report.gradient_inf_norm <= spike)) {
      ++interval_.spikes;
      ++run_.spikes;
    }
    run_.gradient = std::max(run_.gradient, report.gradient_inf_norm);
    run_.forward += parts;
    run_.backward += parts * (report.second_pull_back ? 2 : 1);
  }
  ++steps_;
  step_times_.add(time_.batch + time_.step - before, run_);
}

json Trainer::evaluate() {
  json line;
  {
    const Stopwatch watch(time_.evaluate);
    const auto add = [&](const std::string& name, const Part& part) {
      const Scores scores = train::evaluate(*model_, part, *loss_, data_.prediction, {}, ranks_.get());
      line[name + "_loss"] = scores.loss;
      if (scores.accuracy) line[name + "_accuracy"] = *scores.accuracy;
      if (scores.perplexity) line[name + "_perplexity"] = *scores.perplexity;
    };
    add("test", data_.test);
    if (data_.validation) add("validation", *data_.validation);
    line["eps_dominated"] = optimizer_.eps_dominated();
  }
  line["epoch"] = short_json(ratio(steps_, steps_per_epoch_));
  line["step"] = steps_;
  line["seconds"] = time_.total();
  line["lr"] = config_.optimizer.group.lr * rate_fraction(config_.rate, steps_, total_steps_);
  line["train_loss"] = recent_train_loss();
  line["grad_inf_norm"] = interval_.gradient;
  line["spikes"] = interval_.spikes;
  line["forward_passes"] = run_.forward;
  line["backward_passes"] = run_.backward;
  line["peak_memory_bytes"] = runtime::peak_resident_bytes();
  interval_ = {};
  return line;
}

json Trainer::totals() const {
  return {{"steps", steps_},
          {"epochs", short_json(ratio(steps_, steps_per_epoch_))},
          {"seconds", time_.total()},
          {"split", to_json(time_)},
          {"forward_passes", run_.forward},
          {"backward_passes", run_.backward},
          {"grad_inf_norm", run_.gradient},
          {"spikes", run_.spikes},
          {"step_seconds_min", run_.fastest},
          {"step_seconds_max", run_.slowest},
          {"peak_memory_bytes", runtime::peak_resident_bytes()}};
}

}  // namespace lehi::train
