#include "cli/eval.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/duration.h"
#include "cli/arguments.h"
#include "cli/run_flags.h"
#include "cli/table.h"
#include "lehi/runtime.h"
#include "train/evaluate.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/threads.h"
#include "train/weight_settings.h"
#include "train/weights.h"

namespace lehi::cli {
namespace {

using EvalJson = nlohmann::ordered_json;

EvalJson to_json(const train::Scores& scores, std::int64_t rows) {
  EvalJson result = {{"loss", scores.loss}};
  if (scores.perplexity) result["perplexity"] = *scores.perplexity;
  if (scores.accuracy) result["accuracy"] = *scores.accuracy;
  result["rows"] = rows;
  return result;
}

// Prints a line every five seconds.
std::function<void(std::int64_t)> progress_of(const std::string& name, std::int64_t rows, std::ostream& err) {
  const auto start = std::chrono::steady_clock::now();
  return [name, rows, &err, start, printed = 0.0](std::int64_t done) mutable {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds < printed + 5.0 || done == rows) return;
    printed = seconds;
    const double left = seconds * static_cast<double>(rows - done) / static_cast<double>(done);
    err << fmt::format("lehi: {}: {} of {} rows, about {} left\n", name, done, rows, base::duration_text(left));
  };
}

}  // namespace

EvalConfig parse_eval(const Arguments& arguments) {
  EvalConfig config;
  RunFlags flags;
  CLI::App app("Evaluate model weights on a task: loss, and perplexity or accuracy.", "lehi eval");
  app.add_option("TASK", flags.task, std::string(task_help))->required();
  app.add_option("--weights", config.weights,
                 "safetensors (a file, an index file or a directory), llm.c's .bin file, or the directory of a run's "
                 "checkpoint")
      ->type_name("PATH")
      ->required()
      ->group("Weights");
  add_task_flags(app, flags);
  app.add_flag("--json", config.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  lehi eval ptb --preset small --weights runs/a/checkpoints/step-000000300\n"
      "  lehi eval text:book.txt --weights gpt2/    # Hugging Face: the model is taken from config.json\n"
      "  lehi eval ptb --weights gpt2_124M.bin --set text.block=1024");
  parse_arguments(app, arguments);
  config.data_dir = flags.data_dir;
  auto request = config_request(flags);
  const auto of_weights = train::weight_settings(config.weights);
  request.settings.insert(request.settings.begin(), of_weights.begin(), of_weights.end());
  config.run = train::resolve(request);
  return config;
}

int run_eval(const EvalConfig& config, std::ostream& out, std::ostream& err) {
  const auto message = [&](const std::string& text) { err << "lehi: " << text << '\n'; };
  const auto data = train::load_task(config.run, config.data_dir, message);
  for (const auto& notice : data.notices) message(notice);
  const auto model = train::make_model(config.run, {data.inputs, data.outputs});
  train::load_weights(config.weights, saved_tensors(*model));
  const auto loss = train::loss_of(data.prediction, *model, config.run.model.chunk);

  const auto parameters = parameter_count(*model);
  train::set_threads(config.run, parameters);  // the run's number of threads: sums are then taken in the same order
  EvalJson document = {
      {"schema", 1}, {"task", config.run.task}, {"weights", config.weights}, {"parameters", parameters}};
  std::vector<std::vector<std::string>> rows = {{"part", "rows", "loss"}};
  if (data.prediction == train::Prediction::next_token) rows[0].emplace_back("perplexity");
  if (data.prediction == train::Prediction::classification) rows[0].emplace_back("accuracy");
  const auto add = [&](const std::string& name, const train::Part& part) {
    const auto scores = train::evaluate(*model, part, *loss, data.prediction, progress_of(name, part.size, err));
    document[name] = to_json(scores, part.size);
    std::vector<std::string> row = {name, std::to_string(part.size), short_number(scores.loss, 6)};
    if (scores.perplexity) row.push_back(short_number(*scores.perplexity, 6));
    if (scores.accuracy) row.push_back(short_number(*scores.accuracy, 4));
    rows.push_back(std::move(row));
  };
  if (data.validation) add("validation", *data.validation);
  add("test", data.test);
  if (config.json) {
    out << document.dump(2) << '\n';
  } else {
    print_table(out, rows, Align::right);
  }
  return done;
}

}  // namespace lehi::cli
