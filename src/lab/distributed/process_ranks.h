// lehi::Ranks on c10d process groups: what `lehi train` gives the optimizer when a launcher has started several ranks.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "distributed/launch.h"
#include "lehi/ranks.h"

namespace lehi::distributed {

/// A rank has ended, does not respond, or has failed with an error of its own. The message names it.
class LostRankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes that this rank has passed to collectives.
struct Traffic {
  std::int64_t summed = 0;    ///< by begin_sum(): the tensors, not what the algorithm sends for them
  std::int64_t gathered = 0;  ///< by begin_gather(): all ranks' pieces
  std::int64_t small = 0;     ///< by sum() and broadcast()
};

class ProcessRanks : public Ranks {
 public:
  virtual const Launch& launch() const = 0;
  virtual const Traffic& traffic() const = 0;
  /// From now on begin_sum() sends float32 values as bfloat16, with half the bytes, and sums them as float32.
  virtual void round_sums() = 0;
  /// Rank 0's string, on all ranks.
  virtual std::string broadcast_string(const std::string& text) = 0;
  /// Reports to the other ranks that this one exits with an error; they exit too.
  virtual void give_up(const std::string& why) = 0;
};

struct JoinOptions {
  std::string backend = "gloo";
  std::chrono::milliseconds limit{60'000};  ///< a rank without a heartbeat for this long is lost
};

/// Waits for all ranks. Throws std::invalid_argument for a backend that this LibTorch does not have, and LostRankError
/// when a rank does not connect.
std::shared_ptr<ProcessRanks> join(const Launch& launch, const JoinOptions& options);

}  // namespace lehi::distributed
