#include "distributed/process_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "distributed/heartbeat.h"
#include "distributed/process_groups.h"
#include "distributed/store.h"
#include "runtime/message.h"

namespace lehi::distributed {

using torch::Tensor;
using namespace std::chrono_literals;

namespace {

class C10dRanks final : public ProcessRanks {
 public:
  C10dRanks(const Launch& launch, const JoinOptions& options)
      : launch_(launch), limit_(options.limit), groups_(connect_ranks(launch, options)) {
    monitor_ = std::make_unique<HeartbeatMonitor>(
        HeartbeatMonitor::Options{.rank = launch.rank,
                                  .size = launch.size,
                                  .description = fmt::format("host {}, process {}", host_name(), ::getpid()),
                                  .store_host = launch.launcher_serves_store
                                                    ? launch.launcher + " on " + launch.address
                                                    : fmt::format("rank 0 (host {})", launch.address),
                                  .limit = options.limit},
        [launch, limit = options.limit] { return shared_store(open_store(launch, /*serve=*/false, limit)); });
  }

  C10dRanks(const C10dRanks&) = delete;
  C10dRanks& operator=(const C10dRanks&) = delete;
  C10dRanks(C10dRanks&&) = delete;
  C10dRanks& operator=(C10dRanks&&) = delete;

  ~C10dRanks() override {
    if (!lost_) {
      try {
        // No rank exits before all have come so far: rank 0's process may serve the store.
        groups_.small->barrier()->wait(limit_);
      } catch (const std::exception&) {
        lost_ = true;  // a rank has exited before
      }
    }
    // The groups' destructors would wait for a lost rank, or for its store: they are leaked.
    if (lost_) {
      groups_.sums.release();
      groups_.small.release();
    }
    if (!monitor_->stop()) static_cast<void>(monitor_.release());
  }

  int rank() const override { return launch_.rank; }
  int size() const override { return launch_.size; }
  const Launch& launch() const override { return launch_; }
  const Traffic& traffic() const override { return traffic_; }

  Wait begin_sum(const Tensor& values) override {
    if (rounds_ && values.scalar_type() == torch::kFloat32) return begin_rounded_sum(values);
    traffic_.summed += static_cast<std::int64_t>(values.nbytes());
    return begin([&] {
      std::vector<Tensor> tensors = {values};
      return groups_.sums->allreduce(tensors);
    });
  }

  Wait begin_gather(const Tensor& whole) override {
    traffic_.gathered += static_cast<std::int64_t>(whole.nbytes());
    return begin([&] {
      std::vector<std::vector<Tensor>> pieces = {whole.chunk(size())};
      std::vector<Tensor> own = {pieces.front()[static_cast<std::size_t>(rank())].clone()};
      return groups_.sums->allgather(pieces, own);
    });
  }

  void sum(const Tensor& values) override {
    traffic_.small += static_cast<std::int64_t>(values.nbytes());
    begin([&] {
      std::vector<Tensor> tensors = {values};
      return groups_.small->allreduce(tensors);
    })();
  }

  void broadcast(const Tensor& values) override {
    traffic_.small += static_cast<std::int64_t>(values.nbytes());
    if (values.numel() == 0) return;
    begin([&] {
      std::vector<Tensor> tensors = {values};
      return groups_.small->broadcast(tensors);
    })();
  }

  void round_sums() override { rounds_ = true; }

  std::string broadcast_string(const std::string& text) override {
    Tensor length = torch::scalar_tensor(static_cast<std::int64_t>(text.size()), torch::kInt64);
    broadcast(length);
    Tensor bytes = torch::zeros({length.item<std::int64_t>()}, torch::kUInt8);
    if (bytes.numel() == 0) return "";  // its data pointer is null
    if (rank() == 0) std::memcpy(bytes.data_ptr(), text.data(), text.size());
    broadcast(bytes);
    return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())};
  }

  void give_up(const std::string& why) override {
    if (!lost_) monitor_->report_error(why);
    lost_ = true;
  }

 private:
  template <class Start>
  Wait begin(const Start& start) {
    c10::intrusive_ptr<c10d::Work> work;
    try {
      work = start();
    } catch (const std::exception& error) {
      fail(error.what());
    }
    return [this, work] { finish(*work); };
  }

  // Waits for the work, and checks twice a second whether a rank is lost.
  void finish(c10d::Work& work) {
    constexpr auto check_every = 500ms;
    while (true) {
      try {
        work.wait(check_every);
        return;
      } catch (const std::exception& error) {
        if (work.isCompleted()) {
          if (work.isSuccess()) return;
          fail(error.what());
        }
      }
      if (const auto failure = monitor_->failure(); !failure.empty()) leave(failure);
    }
  }

  [[noreturn]] void leave(const std::string& failure) {
    lost_ = true;
    monitor_->wait_until_others_know();
    throw LostRankError(failure);
  }

  // After a collective has failed.
  [[noreturn]] void fail(const std::string& error) {
    lost_ = true;
    const auto failure = monitor_->wait_for_failure();
    if (!failure.empty()) leave(failure);
    throw LostRankError(
        fmt::format("the ranks lost their connection, although none is known to be lost: {}", first_line(error)));
  }

  // Gloo does not sum bfloat16 numbers. Every rank gets its share of all ranks' values, sums them as float32, and sends
  // the rounded sum to all: half the bytes of an all-reduce, and two roundings, however many ranks there are.
  Wait begin_rounded_sum(const Tensor& values) {
    const torch::NoGradGuard no_grad;
    const std::int64_t share = (values.numel() + size() - 1) / size();
    const Tensor send = torch::zeros({size(), share}, torch::kBFloat16);
    send.view({-1}).narrow(0, 0, values.numel()).copy_(values.view({-1}));
    const Tensor received = torch::empty_like(send);
    traffic_.summed += static_cast<std::int64_t>(send.nbytes());
    const Wait exchanged = begin([&] {
      Tensor out = received.view(torch::kUInt8);
      Tensor in = send.view(torch::kUInt8);
      std::vector<std::int64_t> equal;
      return groups_.sums->alltoall_base(out, in, equal, equal);
    });
    return [this, exchanged, values, send, received] {
      const torch::NoGradGuard guard;
      exchanged();
      const Tensor sum = received[0].to(torch::kFloat32);
      for (int from = 1; from < size(); ++from) sum.add_(received[from].to(torch::kFloat32));
      send[rank()].copy_(sum);
      const std::int64_t before = traffic_.gathered;
      begin_gather(send.view(torch::kUInt8).view({-1}))();
      traffic_.gathered = before;  // it is the second half of a sum
      values.view({-1}).copy_(send.view({-1}).narrow(0, 0, values.numel()));
    };
  }

  Launch launch_;
  std::chrono::milliseconds limit_;
  ProcessGroups groups_;
  std::unique_ptr<HeartbeatMonitor> monitor_;
  Traffic traffic_;
  bool rounds_ = false;
  bool lost_ = false;
};

}  // namespace

std::shared_ptr<ProcessRanks> join(const Launch& launch, const JoinOptions& options) {
  if (options.backend == "nccl") {
    throw_invalid_argument("--backend nccl sums tensors on GPUs only, and lehi trains on the CPU: use --backend gloo");
  }
  std::vector<std::string> backends = {"gloo"};
#ifdef USE_C10D_MPI
  backends.emplace_back("mpi");
#endif
  if (std::find(backends.begin(), backends.end(), options.backend) == backends.end()) {
    throw_invalid_argument("--backend is '{}', which this LibTorch does not have: use --backend {}", options.backend,
                           fmt::join(backends, " or "));
  }
  return std::make_shared<C10dRanks>(launch, options);
}

}  // namespace lehi::distributed
