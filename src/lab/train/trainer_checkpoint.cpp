// The checkpoints of a Trainer.
#include <fmt/format.h>

#include <map>

#include "train/json_file.h"
#include "train/trainer.h"
#include "train/weight_settings.h"

namespace lehi::train {

using nlohmann::json;
using torch::Tensor;

json Trainer::state() const { return {{"steps", steps_}, {"stretch", to_json(interval_)}, {"totals", totals()}}; }

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
  interval_ = interval_sums_from(stretch, where);
  run_ = run_sums_from(totals, where);
  time_ = time_split_from(split, where);
}

}  // namespace lehi::train
