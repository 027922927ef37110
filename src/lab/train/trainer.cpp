#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "data/permutation.h"
#include "lehi/error.h"
#include "lehi/runtime.h"
#include "runtime/message.h"
#include "train/evaluate.h"
#include "train/json_file.h"
#include "train/share.h"
#include "train/task_model.h"
#include "train/weight_settings.h"
#include "train/weights.h"

namespace lehi::train {

using nlohmann::json;
using torch::Tensor;

namespace {

constexpr double spike = 10.0;       // the paper's limit for the largest entry of a gradient
constexpr int steps_of_window = 10;  // of the paper's runtime table

/// Adds the time it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += seconds(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch(Stopwatch&&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  Stopwatch& operator=(Stopwatch&&) = delete;

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double total(const TimeSplit& time) { return time.batch + time.step + time.evaluate + time.record; }

json to_json(const TimeSplit& time) {
  return {{"batch", time.batch}, {"step", time.step}, {"evaluate", time.evaluate}, {"record", time.record}};
}

double ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// A whole number where it is one: epochs.
json short_json(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

Trainer::Trainer(const RunConfig& config, TaskData data, std::shared_ptr<Ranks> ranks)
    : config_(config),
      data_(std::move(data)),
      model_(make_model(config_, {data_.inputs, data_.outputs})),
      loss_(loss_of(data_.prediction, *model_, config_.model.chunk)),
      ranks_(std::move(ranks)),
      optimizer_(model_->named_parameters(), config_.optimizer),
      steps_per_epoch_((data_.train.size + config_.batch_size - 1) / config_.batch_size) {
  if (!config_.init_from.empty()) load_weights(config_.init_from, model_->named_parameters());
  const Recipe& recipe = config_.optimizer.recipe;
  if (!loss_->supports(recipe.probe)) {
    throw_invalid_argument(
        "task {} is trained with the {} loss, which has no {} probe: choose another optimizer or probe", config_.task,
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

double Trainer::recent_train_loss() const {
  return stretch_.rows > 0.0 ? stretch_.loss / stretch_.rows : std::numeric_limits<double>::quiet_NaN();
}

void Trainer::prepare_epoch(std::int64_t epoch) {
  if (epoch == ordered_epoch_) return;
  order_ = torch::tensor(data::epoch_order(data_.train.size, config_.seed, epoch), torch::kInt64);
  ordered_epoch_ = epoch;
}

// The rows at places first, first + 1, ... of the epoch's order, into buffers that live on.
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
    // As many on every rank: batch normalisation has them meet.
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
    stretch_.loss += report.value * static_cast<double>(rows);
    stretch_.rows += static_cast<double>(rows);
    stretch_.gradient = std::max(stretch_.gradient, report.gradient_inf_norm);
    if (!(report.gradient_inf_norm <= spike)) {
      ++stretch_.spikes;
      ++totals_.spikes;
    }
    totals_.gradient = std::max(totals_.gradient, report.gradient_inf_norm);
    totals_.forward += parts;
    totals_.backward += parts * (report.second_pull_back ? 2 : 1);
  }
  ++steps_;
  time_window(time_.batch + time_.step - before);
}

void Trainer::time_window(double seconds) {
  window_seconds_ += seconds;
  if (++window_steps_ < steps_of_window) return;
  const double average = window_seconds_ / steps_of_window;
  totals_.fastest = totals_.fastest == 0.0 ? average : std::min(totals_.fastest, average);
  totals_.slowest = std::max(totals_.slowest, average);
  window_seconds_ = 0.0;
  window_steps_ = 0;
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
  line["seconds"] = total(time_);
  line["lr"] = config_.optimizer.group.lr * rate_fraction(config_.rate, steps_, total_steps_);
  line["train_loss"] = recent_train_loss();
  line["grad_inf_norm"] = stretch_.gradient;
  line["spikes"] = stretch_.spikes;
  line["forward_passes"] = totals_.forward;
  line["backward_passes"] = totals_.backward;
  line["peak_memory_bytes"] = runtime::peak_resident_bytes();
  stretch_ = {};
  return line;
}

json Trainer::totals() const {
  return {{"steps", steps_},
          {"epochs", short_json(ratio(steps_, steps_per_epoch_))},
          {"seconds", total(time_)},
          {"split", to_json(time_)},
          {"forward_passes", totals_.forward},
          {"backward_passes", totals_.backward},
          {"grad_inf_norm", totals_.gradient},
          {"spikes", totals_.spikes},
          {"step_seconds_min", totals_.fastest},
          {"step_seconds_max", totals_.slowest},
          {"peak_memory_bytes", runtime::peak_resident_bytes()}};
}

json Trainer::state() const {
  return {{"steps", steps_},
          {"stretch",
           {{"loss", stretch_.loss},
            {"rows", stretch_.rows},
            {"gradient", stretch_.gradient},
            {"spikes", stretch_.spikes}}},
          {"totals", totals()}};
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint checkpoint;
  for (const auto& item : model::saved_tensors(*model_))
    checkpoint.model.emplace_back(item.key(), item.value().detach());
  checkpoint.optimizer = optimizer_.named_state();
  checkpoint.model_config = weight_config(config_, data_.outputs);
  checkpoint.state = state();
  return checkpoint;
}

void Trainer::restore(Checkpoint&& checkpoint, const std::string& where) {
  const auto& saved = checkpoint.state;
  if (const auto text = about_unknown_key(saved, state(), where + "/state.json"); !text.empty()) throw FileError(text);
  const auto& stretch = object_field(saved, "stretch", where);
  const auto& totals = object_field(saved, "totals", where);
  const auto& split = object_field(totals, "split", where);
  const std::int64_t steps = count_field(saved, "steps", where);
  if (steps > total_steps_) {
    throw FileError(fmt::format("{} is of step {}, but the run has only {}", where, steps, total_steps_));
  }
  std::map<std::string, Tensor> tensors(checkpoint.model.begin(), checkpoint.model.end());
  const auto own = model::saved_tensors(*model_);
  if (tensors.size() != own.size()) {
    throw FileError(fmt::format("{} has {} tensors, the model {}", where, tensors.size(), own.size()));
  }
  for (const auto& item : own) {
    const auto found = tensors.find(item.key());
    if (found == tensors.end()) throw FileError(fmt::format("{} lacks the tensor {}", where, item.key()));
    if (found->second.sizes() != item.value().sizes() || found->second.dtype() != item.value().dtype()) {
      throw FileError(fmt::format("{}: the tensor {} has another shape or type than the model's", where, item.key()));
    }
  }
  try {
    optimizer_.load_named_state(std::move(checkpoint.optimizer));
  } catch (const std::invalid_argument& error) {
    throw FileError(fmt::format("{}: {}", where, error.what()));
  }
  const torch::NoGradGuard no_grad;
  for (const auto& item : own) Tensor(item.value()).copy_(tensors.at(item.key()));
  steps_ = steps;
  stretch_ = {number_field(stretch, "loss", where), number_field(stretch, "rows", where),
              number_field(stretch, "gradient", where), count_field(stretch, "spikes", where)};
  totals_ = {count_field(totals, "forward_passes", where),    count_field(totals, "backward_passes", where),
             number_field(totals, "grad_inf_norm", where),    count_field(totals, "spikes", where),
             number_field(totals, "step_seconds_min", where), number_field(totals, "step_seconds_max", where)};
  time_ = {number_field(split, "batch", where), number_field(split, "step", where),
           number_field(split, "evaluate", where), number_field(split, "record", where)};
}

}  // namespace lehi::train
