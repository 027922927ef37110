// Data-parallel training: several processes, the ranks, have the same weights, and each has its own rows of every
// batch.
//
//   optimizer.distribute(ranks);            // your lehi::Ranks on a communication library; the program's is on c10d
//   optimizer.step(model->forward(my_rows), loss, my_targets);
//
// Up to rounding, a step is the one that a single process with all ranks' rows would take: g and s are summed over the
// ranks, in buckets and while the backward pass still runs, and are scaled by the total count before s is squared.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>

namespace lehi {

/// The collective operations of the ranks. Every rank must make the same calls in the same order, with tensors of the
/// same shape and dtype. A call throws when a rank is lost.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  Ranks(Ranks&&) = delete;
  Ranks& operator=(Ranks&&) = delete;
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Returns when the operation is complete. Until then the caller must not use the tensor.
  using Wait = std::function<void()>;

  /// Starts to replace a contiguous tensor by its sum over all ranks. The result has the same bits on every rank.
  virtual Wait begin_sum(const torch::Tensor& values) = 0;

  /// `whole` is flat and has one piece a rank, all of the same size. Starts to replace each piece by that rank's own.
  virtual Wait begin_gather(const torch::Tensor& whole) = 0;

  /// Replaces `values` by their sum over all ranks before it returns. For few numbers; never rounds them, as
  /// begin_sum() may.
  virtual void sum(const torch::Tensor& values) = 0;

  /// Replaces `values` by rank 0's.
  virtual void broadcast(const torch::Tensor& values) = 0;
};

struct DistributeOptions {
  std::int64_t bucket_bytes = 25 << 20;  ///< how many bytes of g (and as many of s) are summed at once
  /// Each rank keeps its own part of m and v only, updates those weights, and sends them to the other ranks.
  bool shard_state = false;
};

}  // namespace lehi
