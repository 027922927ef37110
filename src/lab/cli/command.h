// A subcommand is a pair of functions: parse(arguments) -> Config, without side effects, and
// run(Config, out, err) -> exit code. Results are written to `out`, progress and messages to `err`.
// The table of subcommands is in commands.cpp, the dispatch in program.cpp.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::cli {

/// Exit codes of the program. A command that a signal stopped exits with 128 plus the signal's number (130, 143).
enum ExitCode : int { done = 0, internal_error = 1, usage_error = 2, bad_input = 3, diverged = 4 };

/// A mistake on the command line: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Unusable data, configuration or checkpoint: exit code 3.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;

enum class CommandGroup : std::uint8_t { training, optimizers, files, machine };

struct Command {
  CommandGroup group = CommandGroup::training;
  std::string_view name;
  std::string_view summary;  ///< one line of `lehi --help`
  /// `arguments` without the command's name.
  int (*main)(const Arguments& arguments, std::ostream& out, std::ostream& err) = nullptr;
};

/// All subcommands, in the order of the help text.
const std::vector<Command>& commands();

/// Runs the program with these arguments. An exception becomes one sentence on `err` and an exit code.
int run_program(const Arguments& arguments, std::ostream& out, std::ostream& err);

/// Makes std::terminate (for example after an exception in a thread) print one sentence and exit with code 1.
void install_terminate_handler();

}  // namespace lehi::cli
