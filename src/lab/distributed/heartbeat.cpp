#include "distributed/heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace lehi::distributed {

using namespace std::chrono_literals;

namespace {

std::string read_string(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return "";
  const auto bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void write_string(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string rank_key(const char* kind, int rank) { return fmt::format("heartbeat/{}/{}", kind, rank); }

const std::string failure_key = "heartbeat/failure";
const std::string alarm_key = "heartbeat/alarm";
// Written instead of a count by a rank that ends in order.
const std::string stopped_count = "stopped";

}  // namespace

HeartbeatMonitor::HeartbeatMonitor(Options options, std::function<std::shared_ptr<c10d::Store>()> connect)
    : options_(std::move(options)),
      interval_(std::clamp<std::chrono::milliseconds>(options_.limit / 20, 50ms, 1000ms)),
      heartbeats_(static_cast<std::size_t>(options_.rank == 0 ? options_.size : 1)) {
  for (Heartbeat& heartbeat : heartbeats_) heartbeat.since = Clock::now();
  thread_ = std::thread([this, connect = std::move(connect)] { run(connect); });
}

HeartbeatMonitor::~HeartbeatMonitor() {
  stop_ = true;
  thread_.join();
}

bool HeartbeatMonitor::stop() {
  stop_ = true;
  const auto deadline = Clock::now() + 2 * interval_ + 1s;
  while (!stopped_ && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  return stopped_;
}

void HeartbeatMonitor::set_failure(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = text;
}

bool HeartbeatMonitor::has_failure() {
  const std::lock_guard lock(mutex_);
  return !failure_.empty();
}

void HeartbeatMonitor::run(const std::function<std::shared_ptr<c10d::Store>()>& connect) {
  try {
    const auto store = connect();
    write_string(*store, rank_key("description", options_.rank), options_.description);
    while (!stop_) {
      exchange(*store);
      const auto next = Clock::now() + interval_;
      const auto something_to_send = [&] { return (alarm_ && !alarm_seen_) || (!acknowledged_ && has_failure()); };
      while (!stop_ && Clock::now() < next && !something_to_send()) std::this_thread::sleep_for(5ms);
    }
    write_string(*store, rank_key("count", options_.rank), stopped_count);
  } catch (const std::exception&) {
    if (!stop_) set_failure(fmt::format("{} was lost: the ranks' store no longer answers", options_.store_host));
  }
  stopped_ = true;
}

void HeartbeatMonitor::exchange(c10d::Store& store) {
  std::string own_error;
  {
    const std::lock_guard lock(mutex_);
    if (!own_error_sent_) own_error = own_error_;
  }
  if (!own_error.empty()) {
    write_string(store, failure_key, own_error);
    const std::lock_guard lock(mutex_);
    own_error_sent_ = true;
  }
  write_string(store, rank_key("count", options_.rank), std::to_string(++count_));
  if (alarm_ && !alarm_seen_) write_string(store, alarm_key, "1");
  if (!alarm_seen_ && store.check({alarm_key})) {
    alarm_seen_ = true;
    alarm_since_ = Clock::now();
  }
  if (const auto failure = read_string(store, failure_key); !failure.empty()) {
    set_failure(failure);
    acknowledge_failure(store);
  } else {
    check_heartbeats(store);
  }
  const std::lock_guard lock(mutex_);
  answered_ = Clock::now();
}

void HeartbeatMonitor::acknowledge_failure(c10d::Store& store) {
  if (!acknowledged_) write_string(store, rank_key("acknowledged", options_.rank), "1");
  acknowledged_ = true;
  if (options_.rank != 0) return;
  int others = 0;
  for (int rank = 1; rank < options_.size; ++rank) others += store.check({rank_key("acknowledged", rank)}) ? 1 : 0;
  others_know_ = others;
}

void HeartbeatMonitor::check_heartbeats(c10d::Store& store) {
  const auto now = Clock::now();
  for (std::size_t rank = 0; rank < heartbeats_.size(); ++rank) {
    if (static_cast<int>(rank) == options_.rank) continue;
    Heartbeat& heartbeat = heartbeats_[rank];
    if (const auto text = read_string(store, rank_key("count", static_cast<int>(rank))); text != heartbeat.last) {
      heartbeat = {text, now};
      continue;
    }
    if (heartbeat.last == stopped_count) continue;
    // A lost rank has made the collective fail and sends nothing since, while the others go on: no need to wait for
    // long.
    const auto silence = now - std::max(heartbeat.since, alarm_seen_ ? alarm_since_ : heartbeat.since);
    const auto allowed = alarm_seen_ ? std::min(options_.limit, 3 * interval_ + 500ms) : options_.limit;
    if (silence < allowed) continue;
    const auto who = read_string(store, rank_key("description", static_cast<int>(rank)));
    const auto text = fmt::format("rank {} ({}) was lost: no heartbeat for {:.1f} s", rank, who,
                                  std::chrono::duration<double>(now - heartbeat.since).count());
    write_string(store, failure_key, text);
    set_failure(text);
    return;
  }
}

std::string HeartbeatMonitor::failure() {
  const std::lock_guard lock(mutex_);
  if (failure_.empty() && !stopped_ && Clock::now() - answered_ > options_.limit) {
    failure_ = fmt::format("{} was lost: the ranks' store did not answer for {:.1f} s", options_.store_host,
                           std::chrono::duration<double>(options_.limit).count());
  }
  return failure_;
}

std::string HeartbeatMonitor::wait_for_failure() {
  alarm_ = true;
  const auto deadline = Clock::now() + options_.limit + 10 * interval_;
  auto text = failure();
  for (; text.empty() && Clock::now() < deadline; text = failure()) std::this_thread::sleep_for(10ms);
  return text;
}

void HeartbeatMonitor::wait_until_others_know() {
  if (options_.rank != 0) return;
  // One of the others is lost, unless this rank itself has failed.
  int others = options_.size - 2;
  {
    const std::lock_guard lock(mutex_);
    if (!own_error_.empty()) others = options_.size - 1;
  }
  const auto deadline = Clock::now() + 5s + 2 * interval_;
  while (others_know_ < others && !stopped_ && Clock::now() < deadline) std::this_thread::sleep_for(10ms);
}

void HeartbeatMonitor::report_error(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    own_error_ = fmt::format("rank {} ({}) ended with an error: {}", options_.rank, options_.description, why);
    failure_ = own_error_;
  }
  const auto deadline = Clock::now() + 2 * interval_ + 1s;
  for (bool sent = false; !sent && Clock::now() < deadline;) {
    std::this_thread::sleep_for(10ms);
    const std::lock_guard lock(mutex_);
    sent = own_error_sent_;
  }
  wait_until_others_know();
}

}  // namespace lehi::distributed
