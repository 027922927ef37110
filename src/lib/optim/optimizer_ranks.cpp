// Several ranks: sums over them, and state that is divided among them.
#include "lehi/optimizer.h"
#include "optim/rank_sums.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

void Optimizer::distribute(std::shared_ptr<Ranks> ranks, const DistributeOptions& options) {
  if (ranks == nullptr) throw_invalid_argument("distribute() was given no ranks");
  if (micro_batches_ > 0) throw_invalid_argument("distribute() was called between accumulate() and step()");
  if (!state_.empty() && (options.shard_state || divided())) {
    throw_invalid_argument(
        "the state is divided over ranks from the first step on: call distribute() before it, and only once");
  }
  ranks_ = std::move(ranks);
  distribute_options_ = options;
  all_parameters();
  make_rank_sums();
}

void Optimizer::make_rank_sums() {
  if (divided() && !state_.empty()) {
    throw_invalid_argument(
        "a parameter was added, but the state is divided over ranks: that can't be changed after the first step");
  }
  rank_sums_ = std::make_shared<RankSums>(members_.parameters, *ranks_, distribute_options_.bucket_bytes);
}

// Of g and s that are complete on this rank.
void Optimizer::sum_over_ranks(Pulled& pulled) {
  const bool second = !pulled.s.empty();
  rank_sums_->begin(second ? 2 : 1);
  for (std::size_t i = 0; i < pulled.g.size(); ++i) {
    if (!pulled.g[i].defined()) continue;
    Tensors parts = {pulled.g[i]};
    if (second) parts.push_back(pulled.s[i]);
    rank_sums_->add(i, parts);
  }
  rank_sums_->flush();
  rank_sums_->complete(/*pending=*/0, [&](std::size_t index, const Tensors& sums) {
    pulled.g[index] = sums[0];
    if (second) pulled.s[index] = sums[1];
  });
}

void Optimizer::sum_over_ranks(const std::vector<double*>& numbers) const {
  std::vector<double> sums;
  for (const double* number : numbers) sums.push_back(*number);
  ranks_->sum(torch::from_blob(sums.data(), {static_cast<std::int64_t>(sums.size())}, torch::kFloat64));
  for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] = sums[i];
}

// How many of a parameter's weights this rank keeps the state of.
std::int64_t Optimizer::own_weights(const Tensor& parameter, std::size_t index) const {
  return divided() ? rank_sums_->own_piece(index).length : parameter.numel();
}

// This rank's piece of a tensor like the parameter, flat; all of it, as it is, where the state is whole.
Tensor Optimizer::own_part(const Tensor& whole, std::size_t index) const {
  if (!divided()) return whole;
  const Tensor& parameter = members_.parameters[index];
  const bool in_order = whole.strides() == parameter.strides();
  const Tensor ordered =
      in_order ? whole : torch::empty_strided(parameter.sizes(), parameter.strides(), whole.options()).copy_(whole);
  const Piece piece = rank_sums_->own_piece(index);
  return in_memory_order(ordered.detach()).narrow(0, piece.first, piece.length);
}

// A moment of every parameter from the ranks' pieces: on rank 0, for the parameters that keep it.
Optimizer::Tensors Optimizer::whole_moments(Tensor ParameterState::*moment) const {
  const auto piece = [&](std::size_t index) {
    const ParameterState* state = find_state(members_.parameters[index]);
    return state == nullptr ? Tensor() : state->*moment;
  };
  Tensors whole(members_.parameters.size());
  bool any = false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Tensor kept = piece(i);
    if (!kept.defined()) continue;
    any = true;
    if (ranks_->rank() != 0) continue;
    whole[i] = torch::zeros_like(members_.parameters[i], kept.options(), torch::MemoryFormat::Preserve);
  }
  if (any) {
    rank_sums_->gather(piece, [&](std::size_t i) { return whole[i].defined() ? in_memory_order(whole[i]) : Tensor(); });
  }
  return whole;
}

// After each rank has updated the weights whose state it keeps.
void Optimizer::share_weights() {
  if (!divided()) return;
  rank_sums_->gather([this](std::size_t index) { return own_part(members_.parameters[index], index); },
                     [this](std::size_t index) { return in_memory_order(members_.parameters[index].detach()); });
}

}  // namespace lehi
