// Distributes a study's runs over the ranks of one program. The ranks communicate through a c10d store, where rank 0
// publishes the runs and each rank claims the next run. The keys:
//
//   directory    of the study, once rank 0 has opened it
//   run/N        the N-th run; the rank that increments `claimed` to N + 1 runs it
//   event/N      messages of the other ranks to rank 0, numbered by `events`
//   stop         the signal with which any rank was asked to stop; all ranks stop
//   heartbeat/R  incremented regularly while rank R is alive
//   finished     tells the other ranks to exit
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace c10d {
class Store;
}

namespace lehi::study {

/// One rank's access to the store. All members throw std::runtime_error with a sentence when the store is unreachable,
/// usually because rank 0 has ended.
class StudyRanks {
 public:
  StudyRanks(std::shared_ptr<c10d::Store> store, int rank, int size);
  StudyRanks(const StudyRanks&) = delete;
  StudyRanks(StudyRanks&&) = delete;
  StudyRanks& operator=(const StudyRanks&) = delete;
  StudyRanks& operator=(StudyRanks&&) = delete;
  ~StudyRanks();  ///< on rank 0: tells the other ranks to exit and waits up to ten seconds for them

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Rank 0:
  void publish_directory(const std::string& directory);
  void publish_run(const std::string& run);
  std::optional<nlohmann::json> receive_event();  ///< the next event; the events of each rank are in order
  int exited() const { return exited_; }          ///< number of other ranks whose exit event has been received
  /// std::runtime_error naming a rank that has neither exited nor sent a heartbeat for `seconds`.
  void check_heartbeats(double seconds);

  // Every rank:
  std::optional<std::string> directory() const;  ///< nothing before rank 0 has published it
  std::optional<std::string> claim_run();        ///< a run to start, if there is one now
  void request_stop(int signal);
  int stop_request() const;  ///< the signal, or 0
  bool finished() const;

  // The other ranks:
  void send_event(const nlohmann::json& event);
  void send_exit();  ///< the last event of a rank
  void send_heartbeat();

 private:
  template <class Action>
  auto with_store(const Action& action) const;
  void set(const std::string& key, const std::string& value);
  std::int64_t add(const std::string& key, std::int64_t increment);
  bool has(const std::string& key) const;
  std::optional<std::string> find(const std::string& key) const;

  struct Heartbeat {
    std::int64_t count = 0;
    double at = 0.0;  ///< when `count` was last seen to change
    bool exited = false;
  };

  std::shared_ptr<c10d::Store> store_;
  int rank_;
  int size_;
  std::int64_t published_ = 0;
  std::int64_t received_ = 0;
  std::optional<std::int64_t> claim_;  ///< number of the run that this rank runs next
  std::vector<Heartbeat> heartbeats_;  ///< by rank
  int exited_ = 0;
};

}  // namespace lehi::study
