#include "optim/rank_sums.h"

#include <algorithm>

#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

// A rank's piece of a bucket begins where a vector register could: the sweep then treats every weight alike.
constexpr std::int64_t alignment = 16;

torch::Dtype sum_type(const Tensor& parameter) {
  return torch::promote_types(parameter.scalar_type(), torch::kFloat32);
}

}  // namespace

Tensor in_memory_order(const Tensor& tensor) { return tensor.as_strided({tensor.numel()}, {1}); }

RankSums::RankSums(const Tensors& parameters, Ranks& ranks, std::int64_t bucket_bytes)
    : parameters_(parameters), ranks_(ranks), places_(parameters.size()) {
  if (bucket_bytes < 1) throw_invalid_argument("a bucket has {} bytes, but must have at least 1", bucket_bytes);
  // From the last parameter to the first: so they come back from a pull-back.
  std::int64_t room = 0;
  for (std::size_t index = parameters.size(); index-- > 0;) {
    const Tensor& parameter = parameters[index];
    if (!parameter.is_non_overlapping_and_dense() || !parameter.device().is_cpu()) {
      throw_invalid_argument("parameter {} must be a dense CPU tensor to be summed over ranks", index);
    }
    const auto dtype = sum_type(parameter);
    const auto bytes = parameter.numel() * static_cast<std::int64_t>(c10::elementSize(dtype));
    if (buckets_.empty() || buckets_.back().dtype != dtype || room < bytes) {
      buckets_.push_back({.dtype = dtype});
      room = bucket_bytes;
    }
    room -= bytes;
    Bucket& bucket = buckets_.back();
    places_[index] = {buckets_.size() - 1, bucket.members.size()};
    bucket.members.push_back({index, bucket.length});
    bucket.length += parameter.numel();
  }
  for (Bucket& bucket : buckets_) {
    const std::int64_t even = (bucket.length + ranks.size() - 1) / ranks.size();
    bucket.share = (even + alignment - 1) / alignment * alignment;
    bucket.added.resize(bucket.members.size());
  }
}

void RankSums::begin(std::size_t vectors) {
  vectors_ = vectors;
  launched_ = completed_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.arrived = 0;
    bucket.waits.clear();
    bucket.added.assign(bucket.members.size(), false);
  }
}

void RankSums::make_buffers(Bucket& bucket) const {
  while (bucket.buffers.size() < vectors_) {
    const std::int64_t length = bucket.length + (bucket.buffers.empty() ? counts_of(bucket) : 0);
    bucket.buffers.push_back(torch::zeros({length}, bucket.dtype));
  }
}

Tensor RankSums::section(const Bucket& bucket, const Member& member, std::size_t vector) const {
  const Tensor& parameter = parameters_[member.index];
  return bucket.buffers[vector].as_strided(parameter.sizes(), parameter.strides(), member.offset);
}

void RankSums::add(std::size_t index, const Tensors& vectors) {
  const torch::NoGradGuard no_grad;
  Bucket& bucket = buckets_[places_[index].bucket];
  const std::size_t place = places_[index].member;
  make_buffers(bucket);
  for (std::size_t c = 0; c < vectors_; ++c) section(bucket, bucket.members[place], c).copy_(vectors[c]);
  bucket.added[place] = true;
  ++bucket.arrived;
  // In one order on all ranks, however their parameters arrive.
  while (launched_ < buckets_.size() && buckets_[launched_].arrived == buckets_[launched_].members.size()) {
    launch(buckets_[launched_++]);
  }
}

void RankSums::flush() {
  const torch::NoGradGuard no_grad;
  while (launched_ < buckets_.size()) {
    Bucket& bucket = buckets_[launched_++];
    make_buffers(bucket);
    for (std::size_t i = 0; i < bucket.members.size(); ++i) {
      for (std::size_t c = 0; c < vectors_ && !bucket.added[i]; ++c) section(bucket, bucket.members[i], c).zero_();
    }
    launch(bucket);
  }
}

void RankSums::launch(Bucket& bucket) {
  const std::vector<double> counts(bucket.added.begin(), bucket.added.end());
  bucket.buffers.front().narrow(0, bucket.length, counts_of(bucket)).copy_(torch::tensor(counts, torch::kFloat64));
  for (std::size_t c = 0; c < vectors_; ++c) bucket.waits.push_back(ranks_.begin_sum(bucket.buffers[c]));
}

void RankSums::complete(std::size_t pending, const Take& take) {
  while (launched_ - completed_ > pending) {
    Bucket& bucket = buckets_[completed_++];
    for (const auto& wait : bucket.waits) wait();
    bucket.waits.clear();
    const Tensor counts = bucket.buffers.front().narrow(0, bucket.length, counts_of(bucket)).to(torch::kFloat64);
    for (std::size_t i = 0; i < bucket.members.size(); ++i) {
      if (!(counts.data_ptr<double>()[i] > 0.0)) continue;
      Tensors sums;
      for (std::size_t c = 0; c < vectors_; ++c) sums.push_back(section(bucket, bucket.members[i], c));
      take(bucket.members[i].index, sums);
    }
  }
}

void RankSums::release() {
  for (std::size_t b = 0; b < completed_; ++b) buckets_[b].buffers.clear();
}

Piece RankSums::own_piece(std::size_t index) const {
  const Place& place = places_.at(index);
  const Bucket& bucket = buckets_[place.bucket];
  const std::int64_t offset = bucket.members[place.member].offset;
  const std::int64_t begin = std::max(offset, ranks_.rank() * bucket.share);
  const std::int64_t end = std::min(offset + parameters_[index].numel(), (ranks_.rank() + 1) * bucket.share);
  return end > begin ? Piece{begin - offset, end - begin} : Piece{};
}

void RankSums::gather(const PieceOf& own, const PieceOf& whole) {
  const torch::NoGradGuard no_grad;
  Tensor pieces;
  Ranks::Wait wait;
  const auto hand_over = [&](const Bucket& bucket, const Tensor& gathered) {
    for (const Member& member : bucket.members) {
      Tensor target = whole(member.index);
      if (target.defined()) target.copy_(gathered.narrow(0, member.offset, target.numel()));
    }
  };
  // One bucket is on its way while the next one is filled.
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    const Tensor next = torch::zeros({ranks_.size() * bucket.share}, bucket.dtype);
    for (const Member& member : bucket.members) {
      const Piece piece = own_piece(member.index);
      if (piece.length == 0) continue;
      if (const Tensor values = own(member.index); values.defined()) {
        next.narrow(0, member.offset + piece.first, piece.length).copy_(values);
      }
    }
    if (b > 0) {
      wait();
      hand_over(buckets_[b - 1], pieces);
    }
    wait = ranks_.begin_gather(next);
    pieces = next;
  }
  if (buckets_.empty()) return;
  wait();
  hand_over(buckets_.back(), pieces);
}

}  // namespace lehi
