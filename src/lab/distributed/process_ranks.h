// The ranks of this run as c10d process groups: what `lehi train` gives the optimizer when a launcher has started
// several.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "distributed/launch.h"
#include "lehi/ranks.h"

namespace lehi::distributed {

/// A rank is gone or stuck, or has ended by an error of its own. What it says names the rank.
class LostRankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes that this rank has given to collectives.
struct Traffic {
  std::int64_t summed = 0;    ///< by begin_sum(): the payload, not what an algorithm makes of it
  std::int64_t gathered = 0;  ///< by begin_gather(): all ranks' pieces
  std::int64_t small = 0;     ///< by sum() and broadcast()
};

class ProcessRanks : public Ranks {
 public:
  virtual const Launch& launch() const = 0;
  virtual const Traffic& traffic() const = 0;
  /// From now on begin_sum() sends float32 values as bfloat16, with half the bytes, and sums them as float32.
  virtual void round_sums() = 0;
  /// Text of rank 0 on all ranks.
  virtual std::string spread_text(const std::string& text) = 0;
  /// Tells the others that this rank ends by an error; they end too.
  virtual void give_up(const std::string& why) = 0;
};

struct JoinOptions {
  std::string backend = "gloo";
  std::chrono::milliseconds limit{60'000};  ///< without a sign of life a rank is lost
};

/// Waits for all ranks. Throws std::invalid_argument for a backend that this LibTorch does not have, and LostRankError
/// when ranks do not come.
std::shared_ptr<ProcessRanks> join(const Launch& launch, const JoinOptions& options);

}  // namespace lehi::distributed
