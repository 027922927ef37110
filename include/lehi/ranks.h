// Data-parallel training: several processes, the ranks, each with the same weights and its own rows of every batch.
//
//   optimizer.distribute(ranks);            // a lehi::Ranks of your communication library; the program's is on c10d
//   optimizer.step(model->forward(my_rows), loss, my_targets);
//
// A step then is that of one process with all ranks' rows, to rounding: g and s are summed over the ranks, in buckets
// and while the pull-back still runs, and scaled by the total count before s is squared.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>

namespace lehi {

/// What ranks do together. Every rank makes the same calls in the same order, with tensors of the same shape and dtype.
/// A call throws where a rank is lost.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Returns when the work is done. Until then the tensor belongs to the work.
  using Wait = std::function<void()>;

  /// Begins to replace a contiguous tensor by its sum over all ranks, with the same bits on each of them.
  virtual Wait begin_sum(const torch::Tensor& values) = 0;

  /// `whole` is flat, and as many equal pieces as there are ranks. Begins to replace each piece by that rank's.
  virtual Wait begin_gather(const torch::Tensor& whole) = 0;

  /// A sum of few numbers that the next step depends on: done when it returns, and exact where begin_sum() may round.
  virtual void sum(const torch::Tensor& values) = 0;

  /// Replaces `values` by rank 0's.
  virtual void broadcast(const torch::Tensor& values) = 0;
};

struct DistributeOptions {
  std::int64_t bucket_bytes = 25 << 20;  ///< of g (and as many of s) that are summed at once
  /// Each rank keeps, and updates by, its own part of m and v only, and then tells the others the new weights.
  bool shard_state = false;
};

}  // namespace lehi
