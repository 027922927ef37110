// Ranks that communicate through Gloo, as threads of this process.
#pragma once

#include <ATen/Parallel.h>

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "distributed/process_ranks.h"
#include "support/network.h"

namespace lehi::distributed {

/// A store at a port that the system chooses.
inline c10d::TCPStore open_server() {
  lehi::testing::leave_the_network();
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  return c10d::TCPStore("127.0.0.1", options);
}

inline Launch launch_at(const c10d::TCPStore& store, int rank, int size) {
  return {.launcher = "a test",
          .rank = rank,
          .size = size,
          .local_rank = rank,
          .local_size = size,
          .address = "127.0.0.1",
          .port = store.getPort(),
          .launcher_serves_store = true};
}

/// Runs `work` on every rank and rethrows the first rank's exception.
inline void run_gloo(int size, const std::function<void(const std::shared_ptr<ProcessRanks>&)>& work) {
  const auto store = open_server();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);  // of this rank: together the ranks use all cores
      std::shared_ptr<ProcessRanks> ranks;
      try {
        ranks = join(launch_at(store, rank, size), {});
        work(ranks);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        if (ranks) ranks->give_up(error.what());  // the others would wait for it
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace lehi::distributed
