#include "train/run_ranks.h"

namespace lehi::train {

StopVote::StopVote(Ranks* ranks, const base::SignalWatch& signals) {
  if (ranks == nullptr) return;
  votes_ = torch::scalar_tensor(signals.received() == 0 ? 0.0 : 1.0, torch::kFloat64);
  wait_ = ranks->begin_sum(votes_);
}

bool StopVote::result(const base::SignalWatch& signals) const {
  if (!wait_) return signals.received() != 0;
  wait_();
  return votes_.item<double>() > 0.0;
}

bool rank0_decides(bool answer, Ranks* ranks) {
  if (ranks == nullptr) return answer;
  const torch::Tensor value = torch::scalar_tensor(answer ? 1.0 : 0.0, torch::kFloat64);
  ranks->broadcast(value);
  return value.item<double>() > 0.0;
}

RunRecord record_without_file(RunStatus status, const std::string& message) {
  RunRecord record;
  record.status = status;
  record.message = message;
  return record;
}

}  // namespace lehi::train
