#include "distributed/process_ranks.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#ifdef USE_C10D_MPI  // where LibTorch was built with it
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "distributed/store.h"
#include "distributed/watch.h"
#include "runtime/message.h"

namespace lehi::distributed {

using torch::Tensor;
using namespace std::chrono_literals;

namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Store = c10::intrusive_ptr<c10d::Store>;

std::string host_of_process() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "localhost"; }

// The address by which this host reaches another: the one that the other can answer to. "" where there is none.
std::string own_address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::string result;
  for (const addrinfo* item = found; item != nullptr && result.empty(); item = item->ai_next) {
    const int socket = ::socket(item->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);  // nothing is sent
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    std::array<char, NI_MAXHOST> text{};
    if (::connect(socket, item->ai_addr, item->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      result = text.data();
    }
    ::close(socket);
  }
  return result;
}

std::shared_ptr<::gloo::transport::Device> device_of(const Launch& launch) {
  using c10d::ProcessGroupGloo;
  if (launch.local_size == launch.size && is_loopback(launch.address)) {
    return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"); interface != nullptr) {
    return ProcessGroupGloo::createDeviceForInterface(interface);
  }
  // A host's own name often is an address of its loopback device, which no other host can reach.
  const auto address = own_address_towards(launch.address, launch.port);
  return address.empty() || is_loopback(address) ? ProcessGroupGloo::createDefaultDevice()
                                                 : ProcessGroupGloo::createDeviceForHostname(address);
}

class C10dRanks final : public ProcessRanks {
 public:
  C10dRanks(const Launch& launch, const JoinOptions& options) : launch_(launch), options_(options) {
    const bool serve = launch.rank == 0 && !launch.store_runs;
    try {
      store_ = open_store(launch, serve, options.limit);
      wait_for_ranks();
      sums_ = make_group("sums");
      // Work that a step waits for has a group of its own: it would queue behind the buckets. MPI's groups share one
      // communicator, on which all calls must keep one order.
      small_ = options.backend == "gloo" ? make_group("small") : sums_;
    } catch (const LostRankError&) {
      throw;
    } catch (const std::exception& error) {
      throw LostRankError(fmt::format("rank {} could not meet the others at {}:{}: {}", launch.rank, launch.address,
                                      launch.port, first_line(error.what())));
    }
    const std::string self = fmt::format("host {}, process {}", host_of_process(), ::getpid());
    watch_ = std::make_unique<Watch>(
        Watch::Options{.rank = launch.rank,
                       .size = launch.size,
                       .self = self,
                       .store_host = launch.store_runs ? launch.launcher + " on " + launch.address
                                                       : fmt::format("rank 0 (host {})", launch.address),
                       .limit = options.limit},
        [launch, limit = options.limit] { return shared_store(open_store(launch, /*serve=*/false, limit)); });
  }

  C10dRanks(const C10dRanks&) = delete;
  C10dRanks& operator=(const C10dRanks&) = delete;

  ~C10dRanks() override {
    if (!lost_) {
      try {
        // Nobody leaves before all have come so far: rank 0 may be where the store lives.
        small_->barrier()->wait(options_.limit);
      } catch (const std::exception&) {
        lost_ = true;  // a rank that went first
      }
    }
    // Destructors would wait for a rank that is gone, or for its store.
    if (lost_) {
      sums_.release();
      small_.release();
    }
    if (!watch_->stop()) static_cast<void>(watch_.release());
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
      return sums_->allreduce(tensors);
    });
  }

  Wait begin_gather(const Tensor& whole) override {
    traffic_.gathered += static_cast<std::int64_t>(whole.nbytes());
    return begin([&] {
      std::vector<std::vector<Tensor>> pieces = {whole.chunk(size())};
      std::vector<Tensor> own = {pieces.front()[static_cast<std::size_t>(rank())].clone()};
      return sums_->allgather(pieces, own);
    });
  }

  void sum(const Tensor& values) override {
    traffic_.small += static_cast<std::int64_t>(values.nbytes());
    begin([&] {
      std::vector<Tensor> tensors = {values};
      return small_->allreduce(tensors);
    })();
  }

  void broadcast(const Tensor& values) override {
    traffic_.small += static_cast<std::int64_t>(values.nbytes());
    if (values.numel() == 0) return;
    begin([&] {
      std::vector<Tensor> tensors = {values};
      return small_->broadcast(tensors);
    })();
  }

  void round_sums() override { rounds_ = true; }

  std::string spread_text(const std::string& text) override {
    Tensor length = torch::scalar_tensor(static_cast<std::int64_t>(text.size()), torch::kInt64);
    broadcast(length);
    Tensor bytes = torch::zeros({length.item<std::int64_t>()}, torch::kUInt8);
    if (bytes.numel() == 0) return "";  // no memory is behind it then
    if (rank() == 0) std::memcpy(bytes.data_ptr(), text.data(), text.size());
    broadcast(bytes);
    return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())};
  }

  void give_up(const std::string& why) override {
    if (!lost_) watch_->give_up(why);
    lost_ = true;
  }

 private:
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  void wait_for_ranks() {
    std::vector<std::string> keys;
    for (int rank = 0; rank < size(); ++rank) keys.push_back(fmt::format("here/{}", rank));
    store_->set(keys[static_cast<std::size_t>(rank())], std::vector<std::uint8_t>{1});
    try {
      store_->wait(keys, options_.limit);
    } catch (const std::exception& error) {
      std::vector<int> missing;
      for (int rank = 0; rank < size(); ++rank) {
        if (!store_->check({keys[static_cast<std::size_t>(rank)]})) missing.push_back(rank);
      }
      throw LostRankError(fmt::format("rank {} of {} did not come to {}:{} within {:.0f} s", fmt::join(missing, ", "),
                                      size(), launch_.address, launch_.port,
                                      std::chrono::duration<double>(options_.limit).count()));
    }
  }

  Group make_group(const char* name) const {
#ifdef USE_C10D_MPI
    if (options_.backend == "mpi") return c10d::ProcessGroupMPI::createProcessGroupMPI();
#endif
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(device_of(launch_));
    options->threads = 2;
    // A rank that lives but does not take part: rank 0 may write a large checkpoint meanwhile.
    options->timeout = 10 * options_.limit;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>(name, store_), rank(),
                                                       size(), options);
  }

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

  // Waits for the work, and looks now and then whether it can still come to an end.
  void finish(c10d::Work& work) {
    constexpr auto look_every = 500ms;
    while (true) {
      try {
        work.wait(look_every);
        return;
      } catch (const std::exception& error) {
        if (work.isCompleted()) {
          if (work.isSuccess()) return;
          fail(error.what());
        }
      }
      if (const auto verdict = watch_->verdict(); !verdict.empty()) leave(verdict);
    }
  }

  [[noreturn]] void leave(const std::string& verdict) {
    lost_ = true;
    watch_->let_others_hear();
    throw LostRankError(verdict);
  }

  [[noreturn]] void fail(const std::string& error) {
    lost_ = true;
    const auto verdict = watch_->expect_verdict();
    if (!verdict.empty()) leave(verdict);
    throw LostRankError(
        fmt::format("the ranks lost touch of each other, and none of them is known to be gone: {}", first_line(error)));
  }

  // Gloo does not add bfloat16 numbers. Every rank gets its share of all ranks' values, adds them up as float32, and
  // sends the rounded sum to all: half the bytes of an all-reduce, and two roundings, however many ranks there are.
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
      return sums_->alltoall_base(out, in, equal, equal);
    });
    return [this, exchanged, values, send, received] {
      const torch::NoGradGuard guard;
      exchanged();
      const Tensor sum = received[0].to(torch::kFloat32);
      for (int from = 1; from < size(); ++from) sum.add_(received[from].to(torch::kFloat32));
      send[rank()].copy_(sum);
      const std::int64_t before = traffic_.gathered;
      begin_gather(send.view(torch::kUInt8).view({-1}))();
      traffic_.gathered = before;  // the second half of a sum
      values.view({-1}).copy_(send.view({-1}).narrow(0, 0, values.numel()));
    };
  }

  Launch launch_;
  JoinOptions options_;
  Store store_;
  Group sums_;
  Group small_;
  std::unique_ptr<Watch> watch_;
  Traffic traffic_;
  bool rounds_ = false;
  bool lost_ = false;
};

}  // namespace

std::shared_ptr<ProcessRanks> join(const Launch& launch, const JoinOptions& options) {
  if (options.backend == "nccl") {
    throw_invalid_argument("--backend nccl adds up tensors of GPUs, and lehi trains on the CPU: use --backend gloo");
  }
  std::vector<std::string> there = {"gloo"};
#ifdef USE_C10D_MPI
  there.emplace_back("mpi");
#endif
  if (std::find(there.begin(), there.end(), options.backend) == there.end()) {
    throw_invalid_argument("--backend is '{}', which this LibTorch does not have: use --backend {}", options.backend,
                           fmt::join(there, " or "));
  }
  return std::make_shared<C10dRanks>(launch, options);
}

}  // namespace lehi::distributed
