// Child processes whose output is read while they run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::study {

/// A process of its own group, so that Ctrl-C reaches it through its parent only, once. It has no input. It dies with
/// its parent, however that one ends, and until then keeps the descriptor `held` (a lock) open, so that nobody takes
/// the lock while it is still writing.
class Child {
 public:
  /// `program` is a path; `arguments` begin with the name that the program is to see as its own; `environment` is
  /// "NAME=value"s.
  Child(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment, int held);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< kills it if it still runs

  using Lines = std::function<void(std::string_view line)>;
  /// Hands over the whole lines that it has printed since, without waiting.
  void read(const Lines& out, const Lines& err);

  /// The status of waitpid() once it has ended; does not wait.
  std::optional<int> ended();

  void send(int signal) const;

  int out() const { return out_.descriptor; }
  int err() const { return err_.descriptor; }

 private:
  struct Stream {
    int descriptor = -1;
    std::string rest;  ///< of a line whose end has not come yet
    void read(const Lines& lines);
    void close(const Lines& lines);
  };

  pid_t process_ = -1;
  Stream out_;
  Stream err_;
};

/// What a command that runs a moment printed, and how it ended.
struct CommandOutput {
  int code = 0;  ///< its exit code; 1 where a signal ended it
  std::string out;
  std::string err;
};

/// Where the PATH has a command; "" where it has none.
std::string find_command(const std::string& name);

/// Runs a command of the PATH to its end: an argument vector, no shell.
CommandOutput run_command(std::vector<std::string> arguments);

}  // namespace lehi::study
