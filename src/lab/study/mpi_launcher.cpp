#include "study/mpi_launcher.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/signals.h"

namespace lehi::study {
namespace {

constexpr double kBeatEvery = 1.0;    // seconds
constexpr double kLostAfter = 60.0;   // without a beat
constexpr double kReportEvery = 0.5;  // of a run, to rank 0

void fill(StudyRanks& ranks, RunProcesses& processes, std::size_t jobs, const LaunchEvents& events) {
  while (processes.count() < jobs) {
    const auto run = ranks.take();
    if (!run) return;
    // The store is open to whoever can reach it.
    if (!is_safe_name(*run)) throw std::runtime_error("the ranks' store offers a run that is no folder of the study");
    processes.start(*run, events);
  }
}

/// Events that rank 0 hears. Few are worth a message: a run reports several times a second.
LaunchEvents told_to_rank_zero(StudyRanks& ranks) {
  auto reported_at = std::make_shared<std::map<std::string, double>>();
  return {.started =
              [&ranks](const std::string& run) {
                ranks.tell({{"started", run}});
              },
          .reported =
              [&ranks, reported_at](const std::string& run, const ProgressLine& report) {
                const double now = base::seconds_now();
                auto& at = (*reported_at)[run];
                if (now - at < kReportEvery) return;
                at = now;
                ranks.tell({{"reported", run},
                            {"step", report.step},
                            {"total", report.total},
                            {"epoch", report.epoch},
                            {"train_loss", report.train_loss}});
              },
          .ended =
              [&ranks](const std::string& run, const RunEnd& end) {
                ranks.tell({{"ended", run}, {"code", end.code}, {"message", end.message}});
              },
          .say = [](const std::string&) {}};
}

void pass_on(const nlohmann::json& event, const LaunchEvents& events) {
  if (const auto run = event.find("started"); run != event.end()) events.started(run->get<std::string>());
  if (const auto run = event.find("reported"); run != event.end()) {
    if (const auto report = parse_report(event.dump())) events.reported(run->get<std::string>(), *report);
  }
  if (const auto run = event.find("ended"); run != event.end()) {
    events.ended(run->get<std::string>(), {.code = event.at("code").get<int>(), .message = event.at("message")});
  }
}

void work_until_over(RunnerRequest& request, StudyRanks& ranks, const base::SignalWatch& signals) {
  const auto events = told_to_rank_zero(ranks);
  std::optional<RunProcesses> processes;
  bool stopped = false;
  for (double beaten_at = 0.0; !ranks.over() && !(stopped && processes->count() == 0);) {
    if (base::seconds_now() - beaten_at >= kBeatEvery) {
      beaten_at = base::seconds_now();
      ranks.beat();
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
    const int asked = ranks.stop_request();
    if (const int signal = asked != 0 ? asked : signals.received(); signal != 0 && !stopped) {
      stopped = true;
      if (asked == 0) ranks.ask_to_stop(signal);
      processes->send(signal);
    }
    if (!stopped) fill(ranks, *processes, static_cast<std::size_t>(request.jobs), events);
    processes->look(events);
  }
}

}  // namespace

MpiLauncher::MpiLauncher(const RunnerRequest& request, int held)
    : ranks_(*request.ranks), jobs_(static_cast<std::size_t>(request.jobs)), processes_(request, held) {
  ranks_.open(std::filesystem::absolute(request.directory).string());
}

void MpiLauncher::start(const std::vector<std::string>& runs) {
  waiting_.insert(runs.begin(), runs.end());
  for (const auto& run : runs) ranks_.offer(run);
}

// After a stop until all others have left: one of them may just have taken a run.
bool MpiLauncher::busy() const {
  if (stopped_) return processes_.count() > 0 || ranks_.left() < ranks_.size() - 1;
  return !waiting_.empty() || !running_.empty();
}

void MpiLauncher::look(const LaunchEvents& events) {
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
  if (!stopped_) fill(ranks_, processes_, jobs_, counted);
  processes_.look(counted);
  while (const auto event = ranks_.hear()) pass_on(*event, counted);
  stop_request_ = ranks_.stop_request();
  if (base::seconds_now() - checked_at_ < kBeatEvery) return;
  checked_at_ = base::seconds_now();
  ranks_.check_beats(kLostAfter);
}

void MpiLauncher::stop(int signal) {
  stopped_ = true;
  ranks_.ask_to_stop(signal);
  processes_.send(signal);
}

std::size_t MpiLauncher::at_once() const { return jobs_ * static_cast<std::size_t>(ranks_.size()); }

void work_for_rank_zero(RunnerRequest request) {
  const base::SignalWatch signals;
  work_until_over(request, *request.ranks, signals);
  request.ranks->leave();
}

}  // namespace lehi::study
