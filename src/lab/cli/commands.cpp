// The table of subcommands.
#include "cli/bench.h"
#include "cli/bound.h"
#include "cli/command.h"
#include "cli/compare.h"
#include "cli/contest.h"
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

namespace lehi::cli {
namespace {

template <auto parse, auto run>
int parse_and_run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  return run(parse(arguments), out, err);
}

}  // namespace

const std::vector<Command>& commands() {
  using enum CommandGroup;
  static const std::vector<Command> table = {
      {training, "train", "train a model with one optimizer and record the run", parse_and_run<parse_train, run_train>},
      {training, "compare", "compare optimizers on one task over several seeds",
       parse_and_run<parse_compare, run_compare>},
      {training, "sweep", "search learning rates for several optimizers and tasks",
       parse_and_run<parse_sweep, run_sweep>},
      {training, "contest", "tune optimizers alike on several tasks and compare them at equal time",
       parse_and_run<parse_contest, run_contest>},
      {training, "report", "write a report of studies: web page, tables, figures",
       parse_and_run<parse_report, run_report>},
      {training, "serve", "serve the report as a live web page", parse_and_run<parse_serve, run_serve>},
      {training, "eval", "evaluate model weights on a task", parse_and_run<parse_eval, run_eval>},
      {optimizers, "list", "list tasks, optimizers, losses or probes", parse_and_run<parse_list, run_list>},
      {optimizers, "loss", "evaluate a loss, its gradient and its probe at given predictions",
       parse_and_run<parse_loss, run_loss>},
      {optimizers, "trace", "follow optimizers on a small problem with a known optimum",
       parse_and_run<parse_trace, run_trace>},
      {optimizers, "bound", "evaluate the paper's convergence bound", parse_and_run<parse_bound, run_bound>},
      {files, "data", "list, download and verify the tasks' data files", parse_and_run<parse_data, run_data>},
      {files, "tokenize", "convert text to token ids and back", parse_and_run<parse_tokenize, run_tokenize>},
      {files, "convert", "convert model weights between file formats and number types",
       parse_and_run<parse_convert, run_convert>},
      {machine, "doctor", "describe this machine, measure its speed and give advice",
       parse_and_run<parse_doctor, run_doctor>},
      {machine, "bench", "measure the speed and memory of this build against bounds",
       parse_and_run<parse_bench, run_bench>},
      {machine, "scaling", "measure how fast ranks communicate", parse_and_run<parse_scaling, run_scaling>},
  };
  return table;
}

}  // namespace lehi::cli
