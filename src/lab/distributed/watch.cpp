#include "distributed/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace lehi::distributed {

using namespace std::chrono_literals;

namespace {

std::string text_of(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return "";
  const auto bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void set_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string key_of(const char* kind, int rank) { return fmt::format("watch/{}/{}", kind, rank); }

const std::string verdict_key = "watch/verdict";
const std::string alarm_key = "watch/alarm";

}  // namespace

Watch::Watch(Options options, std::function<std::shared_ptr<c10d::Store>()> connect)
    : options_(std::move(options)),
      interval_(std::clamp<std::chrono::milliseconds>(options_.limit / 20, 50ms, 1000ms)),
      beats_(static_cast<std::size_t>(options_.rank == 0 ? options_.size : 1)) {
  for (Beat& beat : beats_) beat.since = Clock::now();
  thread_ = std::thread([this, connect = std::move(connect)] { run(connect); });
}

Watch::~Watch() {
  stop_ = true;
  thread_.join();
}

bool Watch::stop() {
  stop_ = true;
  const auto patience = Clock::now() + 2 * interval_ + 1s;
  while (!stopped_ && Clock::now() < patience) std::this_thread::sleep_for(5ms);
  return stopped_;
}

void Watch::settle(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (verdict_.empty()) verdict_ = text;
}

bool Watch::has_verdict() {
  const std::lock_guard lock(mutex_);
  return !verdict_.empty();
}

void Watch::run(const std::function<std::shared_ptr<c10d::Store>()>& connect) {
  try {
    const auto store = connect();
    set_text(*store, key_of("who", options_.rank), options_.self);
    while (!stop_) {
      look(*store);
      const auto next = Clock::now() + interval_;
      const auto is_news = [&] { return (alarm_ && !alarm_heard_) || (!told_ && has_verdict()); };
      while (!stop_ && Clock::now() < next && !is_news()) std::this_thread::sleep_for(5ms);
    }
    set_text(*store, key_of("beat", options_.rank), "over");
  } catch (const std::exception&) {
    if (!stop_) settle(fmt::format("{} was lost: the ranks' store does not answer any more", options_.store_host));
  }
  stopped_ = true;
}

void Watch::look(c10d::Store& store) {
  std::string farewell;
  {
    const std::lock_guard lock(mutex_);
    if (!farewell_sent_) farewell = farewell_;
  }
  if (!farewell.empty()) {
    set_text(store, verdict_key, farewell);
    const std::lock_guard lock(mutex_);
    farewell_sent_ = true;
  }
  set_text(store, key_of("beat", options_.rank), std::to_string(++count_));
  if (alarm_ && !alarm_heard_) set_text(store, alarm_key, "1");
  if (!alarm_heard_ && store.check({alarm_key})) {
    alarm_heard_ = true;
    alarm_since_ = Clock::now();
  }
  if (const auto verdict = text_of(store, verdict_key); !verdict.empty()) {
    settle(verdict);
    note_who_has_heard(store);
  } else {
    watch_ranks(store);
  }
  const std::lock_guard lock(mutex_);
  answered_ = Clock::now();
}

void Watch::note_who_has_heard(c10d::Store& store) {
  if (!told_) set_text(store, key_of("heard", options_.rank), "1");
  told_ = true;
  if (options_.rank != 0) return;
  int heard = 0;
  for (int rank = 1; rank < options_.size; ++rank) heard += store.check({key_of("heard", rank)}) ? 1 : 0;
  heard_ = heard;
}

void Watch::watch_ranks(c10d::Store& store) {
  const auto now = Clock::now();
  for (std::size_t rank = 0; rank < beats_.size(); ++rank) {
    if (static_cast<int>(rank) == options_.rank) continue;
    Beat& beat = beats_[rank];
    if (const auto text = text_of(store, key_of("beat", static_cast<int>(rank))); text != beat.last) {
      beat = {text, now};
      continue;
    }
    if (beat.last == "over") continue;
    // When a collective has failed, whoever was silent since is the one: the living beat on.
    const auto silence = now - std::max(beat.since, alarm_heard_ ? alarm_since_ : beat.since);
    const auto patience = alarm_heard_ ? std::min(options_.limit, 3 * interval_ + 500ms) : options_.limit;
    if (silence < patience) continue;
    const auto who = text_of(store, key_of("who", static_cast<int>(rank)));
    const auto text = fmt::format("rank {} ({}) was lost: no sign of it for {:.1f} s", rank, who,
                                  std::chrono::duration<double>(now - beat.since).count());
    set_text(store, verdict_key, text);
    settle(text);
    return;
  }
}

std::string Watch::verdict() {
  const std::lock_guard lock(mutex_);
  if (verdict_.empty() && !stopped_ && Clock::now() - answered_ > options_.limit) {
    verdict_ = fmt::format("{} was lost: the ranks' store did not answer for {:.1f} s", options_.store_host,
                           std::chrono::duration<double>(options_.limit).count());
  }
  return verdict_;
}

std::string Watch::expect_verdict() {
  alarm_ = true;
  const auto patience = Clock::now() + options_.limit + 10 * interval_;
  auto text = verdict();
  for (; text.empty() && Clock::now() < patience; text = verdict()) std::this_thread::sleep_for(10ms);
  return text;
}

void Watch::let_others_hear() {
  if (options_.rank != 0) return;
  // One of them is lost, unless it is this one that goes.
  int others = options_.size - 2;
  {
    const std::lock_guard lock(mutex_);
    if (!farewell_.empty()) others = options_.size - 1;
  }
  const auto patience = Clock::now() + 5s + 2 * interval_;
  while (heard_ < others && !stopped_ && Clock::now() < patience) std::this_thread::sleep_for(10ms);
}

void Watch::give_up(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!verdict_.empty()) return;
    farewell_ = fmt::format("rank {} ({}) has ended: {}", options_.rank, options_.self, why);
    verdict_ = farewell_;
  }
  const auto patience = Clock::now() + 2 * interval_ + 1s;
  for (bool sent = false; !sent && Clock::now() < patience;) {
    std::this_thread::sleep_for(10ms);
    const std::lock_guard lock(mutex_);
    sent = farewell_sent_;
  }
  let_others_hear();
}

}  // namespace lehi::distributed
