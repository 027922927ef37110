#include "distributed/store.h"

#include <fmt/format.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace lehi::distributed {

std::shared_ptr<c10d::Store> meet_at_store(const Launch& launch, std::chrono::milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = launch.rank == 0 && !launch.store_runs;
  options.waitWorkers = false;
  options.timeout = limit;
  try {
    const auto store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("lehi/{}", launch.attempt), c10::make_intrusive<c10d::TCPStore>(launch.address, options));
    return {store.get(), [store](c10d::Store*) {}};
  } catch (const std::exception& error) {
    const std::string text = error.what();  // with a backtrace after its first line
    throw std::runtime_error(fmt::format(
        "rank {} of {} could not {} the ranks' store at {}:{}: {}; set MASTER_ADDR and MASTER_PORT to a place where "
        "rank 0 can be reached",
        launch.rank, launch.size, options.isServer ? "serve" : "reach", launch.address, launch.port,
        text.substr(0, text.find('\n'))));
  }
}

}  // namespace lehi::distributed
