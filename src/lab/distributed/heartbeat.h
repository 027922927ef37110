// Finds out which rank of a run is lost. A thread of every rank writes a heartbeat into the ranks' store. Rank 0 checks
// the heartbeats of all ranks and writes down which one is lost; the others check rank 0's and read what it wrote. So
// every rank can name the rank that was killed, was stopped or whose host is gone, whichever collective failed.
//
//   a process has ended       its connections break, a collective fails at once, and wait_for_failure() finds the rank
//   a process is stopped      no heartbeat for `limit`
//   the store's host is gone  the store does not answer, at once or for `limit`
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace c10d {
class Store;
}

namespace lehi::distributed {

class HeartbeatMonitor {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::string description;  ///< of this rank in messages, beside its number: "host a, process 12"
    std::string store_host;   ///< named as lost when the store does not answer: "rank 0 (...)", or the launcher
    std::chrono::milliseconds limit{60'000};  ///< a rank without a heartbeat for this long is lost
  };

  /// `connect` opens a connection to the store for the monitor alone: calls on a shared one wait for each other.
  HeartbeatMonitor(Options options, std::function<std::shared_ptr<c10d::Store>()> connect);
  HeartbeatMonitor(const HeartbeatMonitor&) = delete;
  HeartbeatMonitor& operator=(const HeartbeatMonitor&) = delete;
  HeartbeatMonitor(HeartbeatMonitor&&) = delete;
  HeartbeatMonitor& operator=(HeartbeatMonitor&&) = delete;
  ~HeartbeatMonitor();

  /// Ends the thread. False when the store does not answer: the thread may then block for long, and the caller must
  /// leak this object, since the destructor would wait.
  bool stop();

  /// A sentence that names the lost rank, or "" while no rank is known to be lost. Does not wait.
  std::string failure();

  /// To call when a collective has failed: waits until the lost rank is known. "" when every rank sends heartbeats.
  std::string wait_for_failure();

  /// To call before this rank exits because of failure(): rank 0, whose process may serve the store, waits until the
  /// other ranks have read the failure.
  void wait_until_others_know();

  /// Reports to the other ranks that this rank exits with an error of its own.
  void report_error(const std::string& why);

 private:
  void run(const std::function<std::shared_ptr<c10d::Store>()>& connect);
  void exchange(c10d::Store& store);
  void check_heartbeats(c10d::Store& store);
  void acknowledge_failure(c10d::Store& store);
  void set_failure(const std::string& text);
  bool has_failure();

  using Clock = std::chrono::steady_clock;
  struct Heartbeat {
    std::string last;
    Clock::time_point since;  ///< when `last` was first seen
  };

  Options options_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;  ///< guards the next four members
  std::string failure_;
  std::string own_error_;
  bool own_error_sent_ = false;
  Clock::time_point answered_ = Clock::now();  ///< when the store last answered
  // Used by the thread only:
  std::vector<Heartbeat> heartbeats_;  ///< of the ranks that this one checks
  long count_ = 0;                     ///< heartbeats sent
  bool alarm_seen_ = false;            ///< a collective has failed on some rank
  Clock::time_point alarm_since_;
  bool acknowledged_ = false;         ///< this rank has read the failure and written so
  std::atomic<bool> alarm_ = false;   ///< a collective of this rank has failed
  std::atomic<int> others_know_ = 0;  ///< on rank 0: how many other ranks have read the failure
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace lehi::distributed
