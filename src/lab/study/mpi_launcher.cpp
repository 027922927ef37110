#include "study/mpi_launcher.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/names.h"
#include "base/signals.h"

namespace lehi::study {
namespace {

constexpr double kHeartbeatInterval = 1.0;  // seconds
constexpr double kHeartbeatTimeout = 60.0;
constexpr double kProgressInterval = 0.5;  // between two progress events of a run

void start_claimed_runs(StudyRanks& ranks, RunProcesses& processes, std::size_t jobs, const LaunchEvents& events) {
  while (processes.count() < jobs) {
    const auto run = ranks.claim_run();
    if (!run) return;
    // Any program that can reach the store can write to it.
    if (!base::is_safe_name(*run)) {
      throw std::runtime_error("the ranks' store contains a run whose name is not a plain directory name");
    }
    processes.start(*run, events);
  }
}

/// Sends every event to rank 0, except most progress lines: runs print several per second.
LaunchEvents events_for_rank_zero(StudyRanks& ranks) {
  auto reported_at = std::make_shared<std::map<std::string, double>>();
  return {.started =
              [&ranks](const std::string& run) {
                ranks.send_event({{"started", run}});
              },
          .reported =
              [&ranks, reported_at](const std::string& run, const ProgressLine& line) {
                const double now = base::seconds_now();
                auto& at = (*reported_at)[run];
                if (now - at < kProgressInterval) return;
                at = now;
                ranks.send_event({{"reported", run},
                                  {"step", line.step},
                                  {"total", line.total},
                                  {"epoch", line.epoch},
                                  {"train_loss", line.train_loss}});
              },
          .ended =
              [&ranks](const std::string& run, const RunEnd& end) {
                ranks.send_event({{"ended", run}, {"code", end.code}, {"message", end.message}});
              },
          .notice = [](const std::string&) {}};
}

void handle_event(const nlohmann::json& event, const LaunchEvents& events) {
  if (const auto run = event.find("started"); run != event.end()) events.started(run->get<std::string>());
  if (const auto run = event.find("reported"); run != event.end()) {
    if (const auto line = parse_progress_line(event.dump())) events.reported(run->get<std::string>(), *line);
  }
  if (const auto run = event.find("ended"); run != event.end()) {
    events.ended(run->get<std::string>(), {.code = event.at("code").get<int>(), .message = event.at("message")});
  }
}

void run_until_finished(RunnerRequest& request, StudyRanks& ranks, const base::SignalWatch& signals) {
  const auto events = events_for_rank_zero(ranks);
  std::optional<RunProcesses> processes;
  bool stopped = false;
  for (double heartbeat_at = 0.0; !ranks.finished() && !(stopped && processes->count() == 0);) {
    if (base::seconds_now() - heartbeat_at >= kHeartbeatInterval) {
      heartbeat_at = base::seconds_now();
      ranks.send_heartbeat();
    }
    if (!processes) {
      const auto directory = ranks.directory();
      if (directory) {
        request.directory = *directory;
        processes.emplace(request, -1);
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      continue;
    }
    const int requested = ranks.stop_request();
    if (const int signal = requested != 0 ? requested : signals.received(); signal != 0 && !stopped) {
      stopped = true;
      if (requested == 0) ranks.request_stop(signal);
      processes->send(signal);
    }
    if (!stopped) start_claimed_runs(ranks, *processes, static_cast<std::size_t>(request.jobs), events);
    processes->poll(events);
  }
}

}  // namespace

MpiLauncher::MpiLauncher(const RunnerRequest& request, int lock)
    : ranks_(*request.ranks), jobs_(static_cast<std::size_t>(request.jobs)), processes_(request, lock) {
  ranks_.publish_directory(std::filesystem::absolute(request.directory).string());
}

void MpiLauncher::start(const std::vector<std::string>& runs) {
  waiting_.insert(runs.begin(), runs.end());
  for (const auto& run : runs) ranks_.publish_run(run);
}

// After a stop, busy until all other ranks have exited: one of them may just have claimed a run.
bool MpiLauncher::busy() const {
  if (stopped_) return processes_.count() > 0 || ranks_.exited() < ranks_.size() - 1;
  return !waiting_.empty() || !running_.empty();
}

void MpiLauncher::poll(const LaunchEvents& events) {
  LaunchEvents counted = events;
  counted.started = [&](const std::string& run) {
    waiting_.erase(run);
    running_.insert(run);
    events.started(run);
  };
  counted.ended = [&](const std::string& run, const RunEnd& end) {
    running_.erase(run);
    events.ended(run, end);
  };
  if (!stopped_) start_claimed_runs(ranks_, processes_, jobs_, counted);
  processes_.poll(counted);
  while (const auto event = ranks_.receive_event()) handle_event(*event, counted);
  stop_request_ = ranks_.stop_request();
  if (base::seconds_now() - checked_at_ < kHeartbeatInterval) return;
  checked_at_ = base::seconds_now();
  ranks_.check_heartbeats(kHeartbeatTimeout);
}

void MpiLauncher::stop(int signal) {
  stopped_ = true;
  ranks_.request_stop(signal);
  processes_.send(signal);
}

std::size_t MpiLauncher::concurrency() const { return jobs_ * static_cast<std::size_t>(ranks_.size()); }

void run_worker_rank(RunnerRequest request) {
  const base::SignalWatch signals;
  run_until_finished(request, *request.ranks, signals);
  request.ranks->send_exit();
}

}  // namespace lehi::study
