// The program: prepares the machine, then hands over to the subcommand.
#include <csignal>
#include <iostream>

#include "base/startup.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  lehi::cli::say_why_at_termination();
  // A file that would pass the system's limit is an error of the write, and a sentence, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto warnings = lehi::base::prepare(argc, argv);
  const lehi::cli::Arguments arguments(argv + 1, argv + argc);
  for (const auto& warning : warnings) std::cerr << "lehi: warning: " << warning << '\n';
  const int code = lehi::cli::run_program(arguments, std::cout, std::cerr);
  if (!std::cout.flush()) {
    std::cerr << "lehi: the result could not be written to standard output.\n";
    return lehi::cli::internal_error;
  }
  return code;
}
