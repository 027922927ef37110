#include "study/run_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "distributed/environment.h"

namespace lehi::study {

std::vector<std::string> train_arguments(const RunnerRequest& request, const std::string& progress) {
  auto arguments = request.program_arguments;
  arguments.insert(arguments.end(), {"train", "--resume", "--progress", progress});
  if (!request.data_dir.empty()) arguments.insert(arguments.end(), {"--data-dir", request.data_dir});
  arguments.emplace_back("--out");
  return arguments;
}

std::string outcome_text(int code, int signal, const std::string& last_line) {
  const auto* const after = last_line.empty() ? "" : ": ";
  if (signal == 0) return fmt::format("ended with exit code {}{}{}", code, after, last_line);
  const char* name = ::sigabbrev_np(signal);
  return fmt::format("was ended by signal {} (SIG{}){}{}", signal, name == nullptr ? "?" : name, after, last_line);
}

std::string error_line(std::string_view line) {
  constexpr std::string_view prefix = "lehi: ";
  if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  return line.find_first_not_of(" \t\r") == std::string_view::npos ? "" : std::string(line);
}

void RunProcesses::start(const std::string& run, const LaunchEvents& events) {
  auto directory = (request_.directory / run).string();
  if (directory.starts_with('-')) directory.insert(0, "./");  // or it would look like an option
  auto arguments = train_arguments(request_, "lines");
  arguments.push_back(directory);
  running_.push_back(
      {run, Child(request_.program, std::move(arguments), distributed::environment_without_ranks(), lock_), ""});
  events.started(run);
}

void RunProcesses::wait_for_output() const {
  std::vector<pollfd> descriptors;
  for (const auto& entry : running_) {
    for (const int descriptor : {entry.child.out(), entry.child.err()}) {
      if (descriptor >= 0) descriptors.push_back({descriptor, POLLIN, 0});
    }
  }
  // Short, because a signal may be handled on any thread and a child may end without output.
  constexpr int milliseconds = 100;
  if (descriptors.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 4));
  } else {
    ::poll(descriptors.data(), descriptors.size(), milliseconds);
  }
}

void RunProcesses::poll(const LaunchEvents& events) {
  wait_for_output();
  for (auto entry = running_.begin(); entry != running_.end();) {
    const auto status = entry->child.ended();  // before read(), which then returns all of its output
    entry->child.read(
        [&](std::string_view line) {
          if (const auto progress = parse_progress_line(line)) events.reported(entry->run, *progress);
        },
        [&](std::string_view line) {
          if (auto text = error_line(line); !text.empty()) entry->last_error = std::move(text);
        });
    if (!status) {
      ++entry;
      continue;
    }
    const int signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
    const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 1;
    events.ended(entry->run, {.code = code, .message = outcome_text(code, signal, entry->last_error)});
    entry = running_.erase(entry);
  }
}

void RunProcesses::send(int signal) const {
  for (const auto& entry : running_) entry.child.send(signal);
}

}  // namespace lehi::study
