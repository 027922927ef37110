// Whether the other ranks are still there. A thread of every rank writes a beat into the ranks' store; rank 0 watches
// all beats, the others watch rank 0's and its verdict. So a rank that was killed, that was stopped or whose host is
// gone gets a name, on every rank, however the collective that noticed it failed.
//
//   a process that is gone   its connections break, a collective fails at once, and expect_verdict() finds out whose
//   a process that stands    its beat stays away for `limit`
//   the store's host gone    the store does not answer, at once or for `limit`
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

class Watch {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::string self;        ///< what to call this rank beside its number: "host a, process 12"
    std::string store_host;  ///< who is lost when the store does not answer: "rank 0 (...)", or the launcher
    std::chrono::milliseconds limit{60'000};
  };

  /// `connect` opens the store for the watch alone: its calls must not wait for other users of a connection.
  Watch(Options options, std::function<std::shared_ptr<c10d::Store>()> connect);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// Ends the watching. False when the store does not answer, which may last: then the object must live on.
  bool stop();

  /// The sentence that names who is lost, or "" while nobody is. Does not wait.
  std::string verdict();

  /// Before a rank goes that knows the verdict: rank 0, which may be where the store lives, waits until the others know
  /// it too.
  void let_others_hear();

  /// Something went wrong between ranks: waits until it is known who is lost. "" when nobody seems to be.
  std::string expect_verdict();

  /// Tells the others that this rank is about to end by an error of its own, and why.
  void give_up(const std::string& why);

 private:
  void run(const std::function<std::shared_ptr<c10d::Store>()>& connect);
  void look(c10d::Store& store);
  void watch_ranks(c10d::Store& store);
  void settle(const std::string& text);
  bool has_verdict();
  void note_who_has_heard(c10d::Store& store);

  using Clock = std::chrono::steady_clock;
  struct Beat {
    std::string last;
    Clock::time_point since;
  };

  Options options_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::string verdict_;
  std::string farewell_;
  bool farewell_sent_ = false;
  Clock::time_point answered_ = Clock::now();  ///< when the store last did
  std::vector<Beat> beats_;                    ///< of the ranks that this one watches; its thread's own
  long count_ = 0;
  bool alarm_heard_ = false;
  Clock::time_point alarm_since_;
  std::atomic<int> heard_ = 0;  ///< ranks that know the verdict, this one not counted; on rank 0
  bool told_ = false;           ///< the store that this rank knows it
  std::atomic<bool> alarm_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace lehi::distributed
