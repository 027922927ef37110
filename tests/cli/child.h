// The built program as a child process that a test can kill.
#pragma once

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

class Child {
 public:
  explicit Child(Arguments arguments) {
    arguments.insert(arguments.begin(), LEHI_PROGRAM);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid_, LEHI_PROGRAM, &actions, nullptr, pointers.data(), environ) != 0) {
      throw std::runtime_error("cannot start " LEHI_PROGRAM);
    }
    posix_spawn_file_actions_destroy(&actions);
  }

  void send(int number) const { ::kill(pid_, number); }

  /// True once it has ended; wait() then returns its exit code.
  bool ended() const {
    siginfo_t info = {};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  /// The exit code, or minus the signal that ended it.
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace lehi::cli
