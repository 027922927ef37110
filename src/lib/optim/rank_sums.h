// g and s of a step, summed over the ranks: parameters are gathered into buckets, and a bucket is on its way as soon as
// all of its parameters have arrived, while the pull-back goes on. Also which piece of every parameter a rank owns
// where the optimizer's state is divided: the same fraction of every bucket.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "lehi/ranks.h"

namespace lehi {

/// Elements first, first + 1, ... of a parameter in the order of its memory.
struct Piece {
  std::int64_t first = 0;
  std::int64_t length = 0;
};

/// A dense tensor as a flat one, in the order of its memory.
torch::Tensor in_memory_order(const torch::Tensor& tensor);

class RankSums {
 public:
  using Tensors = std::vector<torch::Tensor>;
  using Take = std::function<void(std::size_t index, const Tensors& sums)>;

  /// Throws std::invalid_argument for a parameter whose memory has gaps or overlaps.
  RankSums(const Tensors& parameters, Ranks& ranks, std::int64_t bucket_bytes);

  /// A step begins: of each parameter one vector is summed (g), or two (g and s).
  void begin(std::size_t vectors);

  /// A parameter's vectors on this rank, which are copied. A parameter without any counts as zero.
  void add(std::size_t index, const Tensors& vectors);

  /// After the last add().
  void flush();

  /// Waits until at most `pending` buckets are still under way, and hands over the sums of the others: at least
  /// float32, in the parameter's memory order, valid until the next begin(). Parameters that no rank has added are left
  /// out.
  void complete(std::size_t pending, const Take& take);

  /// Buckets that were handed over give their memory back.
  void release();

  /// The piece of a parameter that this rank owns; may be empty.
  Piece own_piece(std::size_t index) const;

  /// From the owners' pieces to whole tensors on every rank. own(i) is this rank's piece of parameter i, asked for
  /// where it is not empty, and undefined for zeros; whole(i) the flat tensor to fill, undefined where this rank does
  /// not want it.
  using PieceOf = std::function<torch::Tensor(std::size_t index)>;
  void gather(const PieceOf& own, const PieceOf& whole);

 private:
  struct Member {
    std::size_t index = 0;
    std::int64_t offset = 0;  // within the bucket
  };
  struct Bucket {
    torch::Dtype dtype = torch::kFloat32;
    std::int64_t length = 0;
    std::int64_t share = 0;  // elements that each rank owns; those of the last ones may lie beyond the end
    std::vector<Member> members;
    Tensors buffers;  // one a vector; the first one ends with a count a member of the ranks that added it
    std::vector<bool> added;
    std::size_t arrived = 0;
    std::vector<Ranks::Wait> waits;
  };
  struct Place {
    std::size_t bucket = 0;
    std::size_t member = 0;
  };

  static std::int64_t counts_of(const Bucket& bucket) { return static_cast<std::int64_t>(bucket.members.size()); }
  void make_buffers(Bucket& bucket) const;
  torch::Tensor section(const Bucket& bucket, const Member& member, std::size_t vector) const;
  void launch(Bucket& bucket);

  Tensors parameters_;
  Ranks& ranks_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // of the parameters
  std::size_t vectors_ = 1;
  std::size_t launched_ = 0;
  std::size_t completed_ = 0;
};

}  // namespace lehi
