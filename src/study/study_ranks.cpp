#include "study/study_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "study/clock.h"

namespace lehi::study {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string run_key(std::int64_t number) { return fmt::format("run/{}", number); }
std::string event_key(std::int64_t number) { return fmt::format("event/{}", number); }
std::string beat_key(std::size_t rank) { return fmt::format("beat/{}", rank); }

}  // namespace

StudyRanks::StudyRanks(std::shared_ptr<c10d::Store> store, int rank, int size)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      pulses_(static_cast<std::size_t>(size), Pulse{.at = seconds_now()}) {}

StudyRanks::~StudyRanks() {
  if (rank_ != 0) return;
  try {
    store_->set("over", bytes_of("1"));
    // The store may end with this process: the others need a moment to read it.
    constexpr double patience = 10.0;
    for (const double begin = seconds_now(); left_ < size_ - 1 && seconds_now() - begin < patience;) {
      if (!hear()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): those who are left will miss the store
  }
}

std::optional<std::string> StudyRanks::find(const std::string& key) const {
  if (!store_->check({key})) return {};
  const auto bytes = store_->get(key);
  return std::string(bytes.begin(), bytes.end());
}

void StudyRanks::open(const std::string& directory) { store_->set("directory", bytes_of(directory)); }

void StudyRanks::offer(const std::string& run) { store_->set(run_key(offered_++), bytes_of(run)); }

std::optional<std::string> StudyRanks::directory() const { return find("directory"); }

std::optional<std::string> StudyRanks::take() {
  if (!ticket_) ticket_ = store_->add("taken", 1) - 1;
  auto run = find(run_key(*ticket_));
  if (run) ticket_.reset();
  return run;
}

void StudyRanks::ask_to_stop(int signal) { store_->set("stop", bytes_of(std::to_string(signal))); }

int StudyRanks::stop_request() const {
  const auto signal = find("stop");
  return signal ? std::stoi(*signal) : 0;
}

bool StudyRanks::over() const { return store_->check({"over"}); }

void StudyRanks::tell(const nlohmann::json& event) {
  const auto number = store_->add("events", 1) - 1;
  store_->set(event_key(number), bytes_of(event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

std::optional<nlohmann::json> StudyRanks::hear() {
  const auto text = find(event_key(heard_));
  if (!text) return {};
  store_->deleteKey(event_key(heard_++));
  auto event = nlohmann::json::parse(*text);
  if (const auto rank = event.find("left"); rank != event.end()) {
    pulses_.at(rank->get<std::size_t>()).at = -1.0;
    ++left_;
  }
  return event;
}

void StudyRanks::leave() { tell({{"left", rank_}}); }

void StudyRanks::beat() { store_->add(beat_key(static_cast<std::size_t>(rank_)), 1); }

void StudyRanks::check_beats(double seconds) {
  const double now = seconds_now();
  for (std::size_t rank = 1; rank < pulses_.size(); ++rank) {
    auto& pulse = pulses_[rank];
    if (pulse.at < 0.0) continue;
    if (const auto beats = store_->add(beat_key(rank), 0); beats != pulse.beats) pulse = {beats, now};
    if (now - pulse.at > seconds) {
      throw std::runtime_error(fmt::format(
          "rank {} of {} has not been heard of for {:.0f} seconds: it is lost, and with it the runs that it "
          "had; the study goes on from their checkpoints by --resume",
          rank, size_, seconds));
    }
  }
}

}  // namespace lehi::study
