// The ranks of one program that share a study's runs. They talk through a store of c10d, in which rank 0 lays out what
// is to run and everybody helps himself:
//
//   directory    of the study, when rank 0 has opened it
//   run/N        the N-th run that is to be started; whoever counts `taken` up to N + 1 takes it
//   event/N      what the other ranks tell rank 0, counted by `events`
//   stop         the signal by which any rank was asked to stop: all do
//   beat/R       counted up while rank R lives
//   over         there is nothing more to do
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

/// One rank's place among them. Rank 0's last act is to send the others home, however its study ended. Everything
/// throws std::runtime_error with a sentence when the store is gone, which mostly is rank 0's end.
class StudyRanks {
 public:
  StudyRanks(std::shared_ptr<c10d::Store> store, int rank, int size);
  StudyRanks(const StudyRanks&) = delete;
  StudyRanks(StudyRanks&&) = delete;
  StudyRanks& operator=(const StudyRanks&) = delete;
  StudyRanks& operator=(StudyRanks&&) = delete;
  ~StudyRanks();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // What rank 0 says.
  void open(const std::string& directory);
  void offer(const std::string& run);
  // What every rank may.
  std::optional<std::string> directory() const;  ///< nothing before rank 0 has opened the study
  std::optional<std::string> take();             ///< a run to start, if there is one now
  void ask_to_stop(int signal);
  int stop_request() const;  ///< 0: nobody asked
  bool over() const;
  // What the others tell, and rank 0 hears: in the order of each of them.
  void tell(const nlohmann::json& event);
  std::optional<nlohmann::json> hear();
  void leave();                       ///< the last thing that a rank tells
  int left() const { return left_; }  ///< how many of the others have left
  void beat();
  /// std::runtime_error naming a rank that has neither left nor been heard of for `seconds`.
  void check_beats(double seconds);

 private:
  template <class Action>
  auto with_store(const Action& action) const;
  void set(const std::string& key, const std::string& text);
  std::int64_t count(const std::string& key, std::int64_t more);
  bool has(const std::string& key) const;
  std::optional<std::string> find(const std::string& key) const;

  struct Pulse {
    std::int64_t beats = 0;
    double at = 0.0;
  };

  std::shared_ptr<c10d::Store> store_;
  int rank_;
  int size_;
  std::int64_t offered_ = 0;
  std::int64_t heard_ = 0;
  std::optional<std::int64_t> ticket_;  ///< of the run that is taken next
  std::vector<Pulse> pulses_;           ///< of each rank; one that has left has none any more (at < 0)
  int left_ = 0;
};

}  // namespace lehi::study
