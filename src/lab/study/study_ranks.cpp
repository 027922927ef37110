#include "study/study_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/clock.h"

namespace lehi::study {
namespace {

std::string run_key(std::int64_t number) { return fmt::format("run/{}", number); }
std::string event_key(std::int64_t number) { return fmt::format("event/{}", number); }
std::string heartbeat_key(std::size_t rank) { return fmt::format("heartbeat/{}", rank); }

}  // namespace

StudyRanks::StudyRanks(std::shared_ptr<c10d::Store> store, int rank, int size)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      heartbeats_(static_cast<std::size_t>(size), Heartbeat{.at = base::seconds_now()}) {}

// Replaces the store's own errors, which contain a system call or a backtrace.
template <class Action>
auto StudyRanks::with_store(const Action& action) const {
  try {
    return action(*store_);
  } catch (const std::exception&) {
    throw std::runtime_error(fmt::format(
        "rank {} of {} lost the connection to {}; continue the study from its runs' checkpoints with --resume", rank_,
        size_, rank_ == 0 ? "the store that the ranks share" : "rank 0, which keeps the study"));
  }
}

void StudyRanks::set(const std::string& key, const std::string& value) {
  with_store([&](c10d::Store& store) { store.set(key, std::vector<std::uint8_t>(value.begin(), value.end())); });
}

std::int64_t StudyRanks::add(const std::string& key, std::int64_t increment) {
  return with_store([&](c10d::Store& store) { return store.add(key, increment); });
}

bool StudyRanks::has(const std::string& key) const {
  return with_store([&](c10d::Store& store) { return store.check({key}); });
}

StudyRanks::~StudyRanks() {
  if (rank_ != 0) return;
  try {
    set("finished", "1");
    // The store may end with this process, so the other ranks get time to read the key.
    constexpr double patience = 10.0;
    for (const double begin = base::seconds_now(); exited_ < size_ - 1 && base::seconds_now() - begin < patience;) {
      if (!receive_event()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the other ranks exit when the store is gone
  }
}

std::optional<std::string> StudyRanks::find(const std::string& key) const {
  if (!has(key)) return {};
  const auto bytes = with_store([&](c10d::Store& store) { return store.get(key); });
  return std::string(bytes.begin(), bytes.end());
}

void StudyRanks::publish_directory(const std::string& directory) { set("directory", directory); }

void StudyRanks::publish_run(const std::string& run) { set(run_key(published_++), run); }

std::optional<std::string> StudyRanks::directory() const { return find("directory"); }

std::optional<std::string> StudyRanks::claim_run() {
  if (!claim_) claim_ = add("claimed", 1) - 1;
  auto run = find(run_key(*claim_));
  if (run) claim_.reset();
  return run;
}

void StudyRanks::request_stop(int signal) { set("stop", std::to_string(signal)); }

int StudyRanks::stop_request() const {
  const auto signal = find("stop");
  return signal ? std::stoi(*signal) : 0;
}

bool StudyRanks::finished() const { return has("finished"); }

void StudyRanks::send_event(const nlohmann::json& event) {
  const auto number = add("events", 1) - 1;
  set(event_key(number), event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<nlohmann::json> StudyRanks::receive_event() {
  const auto text = find(event_key(received_));
  if (!text) return {};
  with_store([&](c10d::Store& store) { store.deleteKey(event_key(received_)); });
  ++received_;
  auto event = nlohmann::json::parse(*text);
  if (const auto rank = event.find("exited"); rank != event.end()) {
    heartbeats_.at(rank->get<std::size_t>()).exited = true;
    ++exited_;
  }
  return event;
}

void StudyRanks::send_exit() { send_event({{"exited", rank_}}); }

void StudyRanks::send_heartbeat() { add(heartbeat_key(static_cast<std::size_t>(rank_)), 1); }

void StudyRanks::check_heartbeats(double seconds) {
  const double now = base::seconds_now();
  for (std::size_t rank = 1; rank < heartbeats_.size(); ++rank) {
    auto& heartbeat = heartbeats_[rank];
    if (heartbeat.exited) continue;
    if (const auto count = add(heartbeat_key(rank), 0); count != heartbeat.count) {
      heartbeat.count = count;
      heartbeat.at = now;
    }
    if (now - heartbeat.at > seconds) {
      throw std::runtime_error(
          fmt::format("rank {} of {} has sent nothing for {:.0f} seconds and is lost, together with its runs; continue "
                      "the study from their checkpoints with --resume",
                      rank, size_, seconds));
    }
  }
}

}  // namespace lehi::study
