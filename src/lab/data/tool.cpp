#include "data/tool.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "data/error.h"

namespace lehi::data {
namespace {

std::string last_line(const std::filesystem::path& log) {
  std::ifstream stream(log);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last.empty() ? "it printed nothing" : last;
}

// The process gets its own process group, so that a signal also reaches its children.
pid_t spawn(std::vector<std::string>& arguments, const std::filesystem::path& folder,
            const std::filesystem::path& log) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers.front(), &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw_data_error("{} can't be started: {}; install it and try again", arguments.front(), std::strerror(error));
  return child;
}

}  // namespace

void throw_if_interrupted(const base::SignalWatch& watch) {
  if (watch.received() != 0) throw Interrupted(watch.received());
}

void run_tool(std::vector<std::string> arguments, const std::filesystem::path& folder, const base::SignalWatch& watch) {
  const std::filesystem::path log = folder / "tool.log";
  const pid_t child = spawn(arguments, std::filesystem::absolute(folder), std::filesystem::absolute(log));
  int status = 0;
  // Polled: the signal may be delivered to another thread, which would not interrupt waitpid() in this one.
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (watch.received() != 0) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw_if_interrupted(watch);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw_data_error("`{}` failed: {}", fmt::join(arguments, " "), last_line(log));
}

}  // namespace lehi::data
