#include "distributed/process_groups.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/socket.h>
#ifdef USE_C10D_MPI  // where LibTorch was built with it
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>
#endif
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "distributed/store.h"

namespace lehi::distributed {
namespace {

using Group = c10::intrusive_ptr<ProcessGroup>;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "localhost"; }

// The address from which this host reaches another, so that the other can answer. "" where there is none.
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
    sockaddr_storage storage{};
    auto* own = static_cast<sockaddr*>(static_cast<void*>(&storage));
    socklen_t length = sizeof(storage);
    std::array<char, NI_MAXHOST> text{};
    if (::connect(socket, item->ai_addr, item->ai_addrlen) == 0 && ::getsockname(socket, own, &length) == 0 &&
        ::getnameinfo(own, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      result = text.data();
    }
    ::close(socket);
  }
  return result;
}

std::shared_ptr<::gloo::transport::Device> gloo_device(const Launch& launch) {
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

void wait_for_ranks(const Launch& launch, c10d::Store& store, std::chrono::milliseconds limit) {
  std::vector<std::string> keys;
  keys.reserve(static_cast<std::size_t>(launch.size));
  for (int rank = 0; rank < launch.size; ++rank) keys.push_back(fmt::format("here/{}", rank));
  store.set(keys[static_cast<std::size_t>(launch.rank)], std::vector<std::uint8_t>{1});
  try {
    store.wait(keys, limit);
  } catch (const std::exception&) {
    std::vector<int> missing;
    for (int rank = 0; rank < launch.size; ++rank) {
      if (!store.check({keys[static_cast<std::size_t>(rank)]})) missing.push_back(rank);
    }
    throw LostRankError(fmt::format("rank {} of {} did not connect to {}:{} within {:.0f} s", fmt::join(missing, ", "),
                                    launch.size, launch.address, launch.port,
                                    std::chrono::duration<double>(limit).count()));
  }
}

Group make_group(const char* name, const Launch& launch, const JoinOptions& options, const StorePointer& store) {
#ifdef USE_C10D_MPI
  if (options.backend == "mpi") return c10d::ProcessGroupMPI::createProcessGroupMPI();
#endif
  const auto group_options = c10d::ProcessGroupGloo::Options::create();
  group_options->devices.push_back(gloo_device(launch));
  group_options->threads = 2;
  // A rank that sends heartbeats may take longer: rank 0 may be writing a large checkpoint.
  group_options->timeout = 10 * options.limit;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>(name, store), launch.rank,
                                                     launch.size, group_options);
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

ProcessGroups connect_ranks(const Launch& launch, const JoinOptions& options) {
  ProcessGroups groups;
  try {
    const bool serve = launch.rank == 0 && !launch.launcher_serves_store;
    groups.store = open_store(launch, serve, options.limit);
    wait_for_ranks(launch, *groups.store, options.limit);
    groups.sums = make_group("sums", launch, options, groups.store);
    // MPI's groups share one communicator, on which all calls must keep one order.
    groups.small = options.backend == "gloo" ? make_group("small", launch, options, groups.store) : groups.sums;
  } catch (const LostRankError&) {
    throw;
  } catch (const std::exception& error) {
    throw LostRankError(fmt::format("rank {} could not connect to the other ranks at {}:{}: {}", launch.rank,
                                    launch.address, launch.port, first_line(error.what())));
  }
  return groups;
}

}  // namespace lehi::distributed
