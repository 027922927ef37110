#include "optim/rank_matrices.h"

#include <algorithm>
#include <numeric>

namespace lehi {

using torch::Tensor;

std::vector<int> matrix_owners(const std::vector<Tensor>& parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parameters[a].numel() > parameters[b].numel(); });
  std::vector<int> owners(parameters.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int place = static_cast<int>(i % static_cast<std::size_t>(2 * ranks));
    owners[order[i]] = place < ranks ? place : 2 * ranks - 1 - place;
  }
  return owners;
}

// In rounds: of each rank its first matrix, its second one, and so on.
void gather_whole(Ranks& ranks, const std::vector<int>& owners, const std::vector<std::size_t>& indices,
                  torch::Dtype dtype, const std::function<std::int64_t(std::size_t)>& length,
                  const std::function<Tensor(std::size_t)>& get,
                  const std::function<void(std::size_t, const Tensor&)>& take) {
  const torch::NoGradGuard no_grad;
  std::vector<std::vector<std::size_t>> of_rank(static_cast<std::size_t>(ranks.size()));
  for (const std::size_t index : indices) of_rank[static_cast<std::size_t>(owners[index])].push_back(index);
  std::size_t rounds = 0;
  for (const auto& own : of_rank) rounds = std::max(rounds, own.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    std::int64_t piece = 0;
    for (const auto& own : of_rank) piece = std::max(piece, round < own.size() ? length(own[round]) : 0);
    const Tensor whole = torch::zeros({ranks.size() * piece}, dtype);
    const auto rank = static_cast<std::size_t>(ranks.rank());
    if (round < of_rank[rank].size()) {
      const std::size_t index = of_rank[rank][round];
      const Tensor values = get(index);
      if (values.defined()) whole.narrow(0, ranks.rank() * piece, length(index)).copy_(values);
    }
    ranks.begin_gather(whole)();
    for (int r = 0; r < ranks.size(); ++r) {
      const auto& own = of_rank[static_cast<std::size_t>(r)];
      if (round < own.size()) take(own[round], whole.narrow(0, r * piece, length(own[round])));
    }
  }
}

}  // namespace lehi
