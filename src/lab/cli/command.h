// What a subcommand is: parse(arguments) -> Config, pure and tested, and run(Config, out, err) -> exit code.
// Results go to `out`, progress and diagnostics to `err`. The table in commands.cpp lists them all.
#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::cli {

/// Exit codes of the program; a signal after a checkpoint adds 128 to its number (130, 143).
enum ExitCode : int { done = 0, internal_error = 1, usage_error = 2, bad_input = 3, diverged = 4 };

/// A mistake on the command line: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Data, configuration or checkpoint that can't be used: exit code 3.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;                                                       ///< one line of `lehi --help`
  int (*main)(const Arguments& arguments, std::ostream& out, std::ostream& err);  ///< arguments after the name
};

/// All subcommands, in the order of the help text.
const std::vector<Command>& commands();

/// The whole program but for main(): dispatches, turns exceptions into one sentence on `err` and an exit code.
int run_program(const Arguments& arguments, std::ostream& out, std::ostream& err);

/// From now on std::terminate, which an exception in a thread leads to, is one sentence and exit code 1 too.
void say_why_at_termination();

}  // namespace lehi::cli
