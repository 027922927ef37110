#include "distributed/store.h"

#include <fmt/format.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace lehi::distributed {

c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool serve, std::chrono::milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = limit;
  const auto store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  return c10::make_intrusive<c10d::PrefixStore>(fmt::format("lehi/{}", launch.attempt), store);
}

std::shared_ptr<c10d::Store> shared_store(c10::intrusive_ptr<c10d::Store> store) {
  auto* const plain = store.get();
  return {plain, [kept = std::move(store)](c10d::Store*) {}};
}

std::shared_ptr<c10d::Store> meet_at_store(const Launch& launch, std::chrono::milliseconds limit) {
  const bool serve = launch.rank == 0 && !launch.launcher_serves_store;
  try {
    return shared_store(open_store(launch, serve, limit));
  } catch (const std::exception& error) {
    const std::string text = error.what();  // LibTorch appends a backtrace to the first line
    throw std::runtime_error(fmt::format(
        "rank {} of {} could not {} the ranks' store at {}:{}: {}; set MASTER_ADDR and MASTER_PORT to an address "
        "at which the other ranks can reach rank 0",
        launch.rank, launch.size, serve ? "serve" : "reach", launch.address, launch.port,
        text.substr(0, text.find('\n'))));
  }
}

}  // namespace lehi::distributed
