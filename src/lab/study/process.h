// Child processes, with their output read while they run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::study {

/// A child process in a process group of its own, so that Ctrl-C reaches it only through its parent. Its standard input
/// is /dev/null. It is killed when its parent ends for any reason. It inherits the descriptor `lock`, so that the lock
/// is held while it may still write.
class Child {
 public:
  /// `program` is a path, `arguments` begin with argv[0], `environment` has entries "NAME=value", and `lock` is -1 for
  /// none.
  Child(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment, int lock);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< kills the process if it still runs

  using Lines = std::function<void(std::string_view line)>;
  /// Passes on the complete lines printed since the last call, without waiting.
  void read(const Lines& out, const Lines& err);

  /// The status of waitpid() once the process has ended; does not wait.
  std::optional<int> ended();

  void send(int signal) const;

  int out() const { return out_.descriptor; }
  int err() const { return err_.descriptor; }

 private:
  struct Stream {
    int descriptor = -1;
    std::string rest;  ///< of a line that is not complete yet
    void read(const Lines& lines);
    void close(const Lines& lines);
  };

  pid_t process_ = -1;
  Stream out_;
  Stream err_;
};

/// The output of a short command and how it ended.
struct CommandOutput {
  int code = 0;  ///< its exit code; 1 if a signal ended it
  std::string out;
  std::string err;
};

/// The path of a command on the PATH; "" if there is none.
std::string find_command(const std::string& name);

/// Runs a command of the PATH to its end, without a shell.
CommandOutput run_command(std::vector<std::string> arguments);

}  // namespace lehi::study
