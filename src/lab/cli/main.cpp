// main(): prepares the process, then runs the command line.
#include <csignal>
#include <iostream>

#include "base/startup.h"
#include "cli/command.h"

// NOLINTNEXTLINE(bugprone-exception-escape): the terminate handler reports what escapes
int main(int argc, char** argv) {
  lehi::cli::install_terminate_handler();
  // A write beyond the system's limit on file sizes then fails with an error that can be reported.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto warnings = lehi::base::prepare(argc, argv);
  const lehi::cli::Arguments arguments(argv + 1, argv + argc);
  for (const auto& warning : warnings) std::cerr << "lehi: warning: " << warning << '\n';
  const int code = lehi::cli::run_program(arguments, std::cout, std::cerr);
  if (!std::cout.flush()) {
    std::cerr << "lehi: cannot write the result to standard output\n";
    return lehi::cli::internal_error;
  }
  return code;
}
