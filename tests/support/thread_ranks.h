// Ranks as threads of one process, for tests that need ranks but not their communication.
#pragma once

#include <torch/types.h>

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "lehi/ranks.h"

namespace lehi::test {

/// Shared by the ranks of one group.
struct ThreadGroup {
  explicit ThreadGroup(int size) : barrier(size), tensors(static_cast<std::size_t>(size)) {}
  std::barrier<> barrier;
  std::vector<torch::Tensor> tensors;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->tensors.size()); }

  Wait begin_sum(const torch::Tensor& values) override {
    summed_bytes += static_cast<std::int64_t>(values.nbytes());
    add_up(values);
    return [] {};
  }

  Wait begin_gather(const torch::Tensor& whole) override {
    const torch::NoGradGuard no_grad;
    exchange(whole, [&] {
      const auto pieces = whole.chunk(size());
      for (int r = 0; r < size(); ++r) {
        const auto at = static_cast<std::size_t>(r);
        if (r != rank_) torch::Tensor(pieces[at]).copy_(group_->tensors[at].chunk(size())[at]);
      }
    });
    return [] {};
  }

  void sum(const torch::Tensor& values) override { add_up(values); }

  void broadcast(const torch::Tensor& values) override {
    const torch::NoGradGuard no_grad;
    exchange(values, [&] { torch::Tensor(values).copy_(group_->tensors.front()); });
  }

  std::int64_t summed_bytes = 0;

 private:
  // Every rank stores a copy of its tensor, waits for the others, and works on the copies.
  template <class Work>
  void exchange(const torch::Tensor& own, const Work& work) {
    group_->tensors[static_cast<std::size_t>(rank_)] = own.clone();
    group_->barrier.arrive_and_wait();
    work();
    group_->barrier.arrive_and_wait();
  }

  void add_up(const torch::Tensor& values) {
    const torch::NoGradGuard no_grad;
    exchange(values, [&] {
      torch::Tensor total = group_->tensors.front().clone();
      for (std::size_t r = 1; r < group_->tensors.size(); ++r) total.add_(group_->tensors[r]);
      torch::Tensor(values).copy_(total);
    });
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

/// Runs `work` on every rank; then rethrows the exception of the lowest rank that threw one. If a rank throws while
/// others wait for it, this does not return: either all ranks must throw or none.
inline void run_ranks(int size, const std::function<void(const std::shared_ptr<ThreadRanks>&)>& work) {
  const auto group = std::make_shared<ThreadGroup>(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(std::make_shared<ThreadRanks>(group, rank));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace lehi::test
