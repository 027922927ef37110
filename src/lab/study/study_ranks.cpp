#include "study/study_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/clock.h"

namespace lehi::study {
namespace {

std::string run_key(std::int64_t number) { return fmt::format("run/{}", number); }
std::string event_key(std::int64_t number) { return fmt::format("event/{}", number); }
std::string beat_key(std::size_t rank) { return fmt::format("beat/{}", rank); }

}  // namespace

StudyRanks::StudyRanks(std::shared_ptr<c10d::Store> store, int rank, int size)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      pulses_(static_cast<std::size_t>(size), Pulse{.at = base::seconds_now()}) {}

// What the store throws is a system call's error or a backtrace.
template <class Action>
auto StudyRanks::with_store(const Action& action) const {
  try {
    return action(*store_);
  } catch (const std::exception&) {
    throw std::runtime_error(
        fmt::format("rank {} of {} has lost {}; the study goes on from its runs' checkpoints by --resume", rank_, size_,
                    rank_ == 0 ? "the store through which the ranks talk" : "rank 0, which kept the study"));
  }
}

void StudyRanks::set(const std::string& key, const std::string& text) {
  with_store([&](c10d::Store& store) { store.set(key, {text.begin(), text.end()}); });
}

std::int64_t StudyRanks::count(const std::string& key, std::int64_t more) {
  return with_store([&](c10d::Store& store) { return store.add(key, more); });
}

bool StudyRanks::has(const std::string& key) const {
  return with_store([&](c10d::Store& store) { return store.check({key}); });
}

StudyRanks::~StudyRanks() {
  if (rank_ != 0) return;
  try {
    set("over", "1");
    // The store may end with this process: the others need a moment to read it.
    constexpr double patience = 10.0;
    for (const double begin = base::seconds_now(); left_ < size_ - 1 && base::seconds_now() - begin < patience;) {
      if (!hear()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): those who are left will miss the store
  }
}

std::optional<std::string> StudyRanks::find(const std::string& key) const {
  if (!has(key)) return {};
  const auto bytes = with_store([&](c10d::Store& store) { return store.get(key); });
  return std::string(bytes.begin(), bytes.end());
}

void StudyRanks::open(const std::string& directory) { set("directory", directory); }

void StudyRanks::offer(const std::string& run) { set(run_key(offered_++), run); }

std::optional<std::string> StudyRanks::directory() const { return find("directory"); }

std::optional<std::string> StudyRanks::take() {
  if (!ticket_) ticket_ = count("taken", 1) - 1;
  auto run = find(run_key(*ticket_));
  if (run) ticket_.reset();
  return run;
}

void StudyRanks::ask_to_stop(int signal) { set("stop", std::to_string(signal)); }

int StudyRanks::stop_request() const {
  const auto signal = find("stop");
  return signal ? std::stoi(*signal) : 0;
}

bool StudyRanks::over() const { return has("over"); }

void StudyRanks::tell(const nlohmann::json& event) {
  const auto number = count("events", 1) - 1;
  set(event_key(number), event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<nlohmann::json> StudyRanks::hear() {
  const auto text = find(event_key(heard_));
  if (!text) return {};
  with_store([&](c10d::Store& store) { store.deleteKey(event_key(heard_)); });
  ++heard_;
  auto event = nlohmann::json::parse(*text);
  if (const auto rank = event.find("left"); rank != event.end()) {
    pulses_.at(rank->get<std::size_t>()).at = -1.0;
    ++left_;
  }
  return event;
}

void StudyRanks::leave() { tell({{"left", rank_}}); }

void StudyRanks::beat() { count(beat_key(static_cast<std::size_t>(rank_)), 1); }

void StudyRanks::check_beats(double seconds) {
  const double now = base::seconds_now();
  for (std::size_t rank = 1; rank < pulses_.size(); ++rank) {
    auto& pulse = pulses_[rank];
    if (pulse.at < 0.0) continue;
    if (const auto beats = count(beat_key(rank), 0); beats != pulse.beats) pulse = {beats, now};
    if (now - pulse.at > seconds) {
      throw std::runtime_error(fmt::format(
          "rank {} of {} has not been heard of for {:.0f} seconds: it is lost, and with it the runs that it "
          "had; the study goes on from their checkpoints by --resume",
          rank, size_, seconds));
    }
  }
}

}  // namespace lehi::study
