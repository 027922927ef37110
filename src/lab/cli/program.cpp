// Runs the program: `lehi --help`, dispatch to a subcommand, and exceptions as one sentence and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/failure.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "data/error.h"
#include "files/files.h"
#include "lehi/error.h"
#include "lehi/torch_compat.h"
#include "lehi/version.h"
#include "train/config.h"

namespace lehi::cli {
namespace {

std::string program_help() {
  const std::vector<std::pair<CommandGroup, std::string_view>> titles = {
      {CommandGroup::training, "Training and studies"},
      {CommandGroup::optimizers, "Optimizers and losses"},
      {CommandGroup::files, "Data and weights"},
      {CommandGroup::machine, "This machine"},
  };
  std::string text =
      "Train neural networks with optimizers that use the curvature of the loss.\n"
      "\n"
      "Usage: lehi COMMAND [OPTIONS]\n";
  for (const auto& [group, title] : titles) {
    text += fmt::format("\n{}:\n", title);
    for (const auto& command : commands()) {
      if (command.group == group) text += fmt::format("  {:<9} {}\n", command.name, command.summary);
    }
  }
  return text +
         "\n"
         "Options:\n"
         "  -h, --help  print this help and exit\n"
         "  --version   print the version and exit\n"
         "\n"
         "Examples:\n"
         "  lehi compare fashion-mnist --preset small\n"
         "  lehi train mnist --optimizer lehi --lr 3e-3\n"
         "  lehi list optimizers\n"
         "\n"
         "Run `lehi COMMAND --help` for the options and examples of a command. Results are written to\n"
         "standard output, progress and messages to standard error.\n"
         "\n"
         "Exit codes:\n"
         "  0         success\n"
         "  1         internal error, or a bound missed in `lehi bench --check`\n"
         "  2         wrong usage\n"
         "  3         unusable data, configuration or checkpoint\n"
         "  4         training diverged\n"
         "  130, 143  stopped by SIGINT or SIGTERM; train, compare and sweep save a checkpoint first\n";
}

int dispatch(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const base::Activity something("finish this command; free some, or ask for less");
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    out << program_help();
    return done;
  }
  if (arguments[0] == "--version") {
    out << "lehi " << LEHI_VERSION << '\n';
    return done;
  }
  std::vector<std::string> names;
  names.reserve(commands().size());
  for (const auto& command : commands()) {
    if (command.name == arguments[0]) return command.main({arguments.begin() + 1, arguments.end()}, out, err);
    names.emplace_back(command.name);
  }
  throw UsageError(fmt::format("there is no command '{}'{}; `lehi --help` lists them", arguments[0],
                               base::suggestion(arguments[0], names)));
}

// Allocates nothing: the error may be a lack of memory.
template <class Put>
void put_line(const std::exception& error, const Put& put) {
  put(std::string_view("lehi: "));
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    put(std::string_view("cannot use the file or directory "));
    put(std::string_view(file->path1().c_str()));
    put(std::string_view(": "));
    const char* reason = ::strerrordesc_np(file->code().value());
    put(std::string_view(reason == nullptr ? "unknown system error" : reason));
  } else {
    base::write_message(error, put);
  }
  put(std::string_view("\n"));
}

// Runs after an exception in a thread, or after an exception while another one was handled.
[[noreturn]] void print_error_and_exit() {
  const auto put = [](std::string_view text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  };
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
    // GCC may call this without a current exception, mostly when memory was missing.
    put("lehi: stopped at once by a lack of memory or an internal error\n");
  } catch (const std::exception& error) {
    put_line(error, put);
  } catch (...) {
    put("lehi: stopped by an unknown error\n");
  }
  std::_Exit(internal_error);
}

}  // namespace

void install_terminate_handler() { std::set_terminate(&print_error_and_exit); }

int run_program(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const std::exception& error, ExitCode code) {
    put_line(error, [&err](std::string_view text) { err << text; });
    return code;
  };
  const compat::WarningListener warnings(
      [&err](const std::string& message) { err << "lehi: warning: " << message << '\n'; });
  try {
    return dispatch(arguments, out, err);
  } catch (const HelpRequest& help) {
    out << help.what();
    return done;
  } catch (const UsageError& error) {
    return fail(error, usage_error);
  } catch (const data::DataError& error) {
    return fail(error, bad_input);
  } catch (const std::invalid_argument& error) {
    return fail(error, usage_error);
  } catch (const InputError& error) {
    return fail(error, bad_input);
  } catch (const train::ConfigError& error) {
    return fail(error, bad_input);
  } catch (const FileError& error) {
    return fail(error, bad_input);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(error, bad_input);
  } catch (const NonFiniteError& error) {
    return fail(error, diverged);
  } catch (const std::exception& error) {
    return fail(error, internal_error);
  } catch (...) {
    err << "lehi: stopped by an unknown error\n";
    return internal_error;
  }
}

}  // namespace lehi::cli
