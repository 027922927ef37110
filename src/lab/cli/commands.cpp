// The table of subcommands, and the dispatch around them.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <ostream>

#include "base/failure.h"
#include "cli/arguments.h"
#include "cli/bench.h"
#include "cli/bound.h"
#include "cli/command.h"
#include "cli/compare.h"
#include "cli/convert.h"
#include "cli/data.h"
#include "cli/doctor.h"
#include "cli/eval.h"
#include "cli/list.h"
#include "cli/loss.h"
#include "cli/report.h"
#include "cli/scaling.h"
#include "cli/serve.h"
#include "cli/sweep.h"
#include "cli/tokenize.h"
#include "cli/trace.h"
#include "cli/train.h"
#include "data/error.h"
#include "files/files.h"
#include "lehi/error.h"
#include "lehi/torch_compat.h"
#include "lehi/version.h"
#include "train/config.h"

namespace lehi::cli {
namespace {

// One entry of the table: parse, then run.
template <auto parse, auto run>
int call(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  return run(parse(arguments), out, err);
}

std::string help() {
  std::string text =
      "lehi trains neural networks with optimizers that look at the curvature of the loss.\n\n"
      "Usage: lehi COMMAND [OPTIONS]\n\nCommands:\n";
  for (const auto& command : commands()) text += fmt::format("  {:<8} {}\n", command.name, command.summary);
  return text +
         "\n`lehi COMMAND --help` shows a command's options and examples; `lehi --version` the version.\n"
         "Results go to standard output, everything else to standard error.\n"
         "Exit codes: 0 done, 1 internal error, 2 usage, 3 bad data, config or checkpoint, 4 diverged,\n"
         "130 or 143 stopped by a signal after a checkpoint.\n";
}

int dispatch(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const base::Activity something("finish this command; free some, or ask for less");
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    out << help();
    return done;
  }
  if (arguments[0] == "--version") {
    out << "lehi " << LEHI_VERSION << '\n';
    return done;
  }
  std::vector<std::string> names;
  for (const auto& command : commands()) {
    if (command.name == arguments[0]) return command.main({arguments.begin() + 1, arguments.end()}, out, err);
    names.emplace_back(command.name);
  }
  const auto near = base::nearest_name(arguments[0], names);
  throw UsageError(fmt::format("there is no command '{}'{}; `lehi --help` lists them", arguments[0],
                               near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"train", "train one optimizer on one task, with a record that survives anything", call<parse_train, run_train>},
      {"compare", "several optimizers on one task with the same budget and seeds, one table",
       call<parse_compare, run_compare>},
      {"sweep", "optimizers x learning rates x seeds, resumable at any moment", call<parse_sweep, run_sweep>},
      {"report", "what studies found: rates beside the paper's, optimizers over seeds", call<parse_report, run_report>},
      {"serve", "the report as a live page, also while a study runs", call<parse_serve, run_serve>},
      {"eval", "loss and perplexity, or accuracy, of given weights on a task", call<parse_eval, run_eval>},
      {"doctor", "what this machine gives: cores, threads, BLAS kernel, measured speed, warnings",
       call<parse_doctor, run_doctor>},
      {"bench", "how fast this build is here: ratios with bounds, beside plain loops and PyTorch",
       call<parse_bench, run_bench>},
      {"scaling", "latency and bandwidth between the ranks, and the bytes that a step sums",
       call<parse_scaling, run_scaling>},
      {"list", "the tasks, optimizers, losses or probes that exist", call<parse_list, run_list>},
      {"loss", "value, gradient, probe and second derivatives of a loss at given predictions",
       call<parse_loss, run_loss>},
      {"trace", "the path of an optimizer on a small problem with a known optimum", call<parse_trace, run_trace>},
      {"bound", "the published convergence bound for given constants", call<parse_bound, run_bound>},
      {"data", "the files that the tasks need: what is there, getting the rest, checking them",
       call<parse_data, run_data>},
      {"tokenize", "a text's tokens and their ids, by GPT-2's or Llama-3's tokenizer",
       call<parse_tokenize, run_tokenize>},
      {"convert", "a model's weights between Hugging Face's files and llm.c's, in another type",
       call<parse_convert, run_convert>},
  };
  return table;
}

namespace {

// Without allocating: it may be memory that is missing.
template <class Put>
void put_line(const std::exception& error, const Put& put) {
  put(std::string_view("lehi: "));
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    put(std::string_view("cannot use the file or directory "));
    put(std::string_view(file->path1().c_str()));
    put(std::string_view(": "));
    const char* reason = ::strerrordesc_np(file->code().value());
    put(std::string_view(reason == nullptr ? "the system refused" : reason));
  } else {
    base::write_message(error, put);
  }
  put(std::string_view("\n"));
}

// A failure in a thread, or while another failure was being dealt with.
[[noreturn]] void end_at_once() {
  const auto put = [](std::string_view text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  };
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
    // GCC may come here without having caught the exception; mostly it is memory that was missing.
    put("lehi: the program had to end at once, for lack of memory or by an internal error\n");
  } catch (const std::exception& error) {
    put_line(error, put);
  } catch (...) {
    put("lehi: the program ended because of an unknown error\n");
  }
  std::_Exit(internal_error);
}

}  // namespace

void say_why_at_termination() { std::set_terminate(&end_at_once); }

int run_program(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const std::exception& error, ExitCode code) {
    put_line(error, [&err](std::string_view text) { err << text; });
    return code;
  };
  const compat::WarningListener warnings(
      [&err](const std::string& message) { err << "lehi: warning: " << message << '\n'; });
  try {
    return dispatch(arguments, out, err);
  } catch (const HelpRequest& help_request) {
    out << help_request.what();
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
    err << "lehi: the program ended because of an unknown error\n";
    return internal_error;
  }
}

}  // namespace lehi::cli
