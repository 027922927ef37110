#include "cli/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/rank_arguments.h"
#include "cli/table.h"
#include "distributed/launch.h"
#include "distributed/local_ranks.h"
#include "distributed/process_ranks.h"

namespace lehi::cli {
namespace {

using distributed::Link;
using distributed::StepModel;
using nlohmann::ordered_json;

constexpr std::int64_t large_floats = 25 * (1 << 20) / 4;  // a bucket

// Median seconds of a sum of so many floats, on rank 0's clock.
double seconds_of_sum(Ranks& ranks, std::int64_t floats, int rounds) {
  const torch::Tensor values = torch::zeros({floats});
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {  // the first ones open connections and touch memory
    const auto start = std::chrono::steady_clock::now();
    ranks.begin_sum(values)();
    if (round >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

struct Measured {
  int ranks = 0;  ///< 0: nothing was measured
  double small = 0.0;
  double medium = 0.0;
  double large = 0.0;
};

Measured measure(Ranks& ranks, int rounds) {
  return {.ranks = ranks.size(),
          .small = seconds_of_sum(ranks, 1, 10 * rounds),
          .medium = seconds_of_sum(ranks, large_floats / 25, 4 * rounds),
          .large = seconds_of_sum(ranks, large_floats, rounds)};
}

ordered_json to_json(const Measured& measured, const StepModel& model) {
  ordered_json result;
  if (measured.ranks > 0) {
    result["measured"] = {{"ranks", measured.ranks},
                          {"seconds_4_bytes", measured.small},
                          {"seconds_1_mb", measured.medium},
                          {"seconds_25_mb", measured.large}};
  }
  result["latency"] = model.link.latency;
  result["bytes_per_second"] = model.link.bytes_per_second;
  result["parameters"] = model.parameters;
  result["adamw_seconds"] = model.adamw_seconds;
  for (int ranks = 1; ranks <= 1024; ranks *= 2) {
    ordered_json row = {{"ranks", ranks}};
    for (const auto& optimizer : distributed::optimizer_costs()) {
      row[optimizer.name] = distributed::step_seconds(model, optimizer, ranks);
    }
    result["steps"].push_back(row);
  }
  return result;
}

void print_model(const Measured& measured, const StepModel& model, std::ostream& out) {
  if (measured.ranks > 0) {
    out << fmt::format(
        "Measured with {} ranks, medians: a sum of 4 bytes {:.3g} ms, of 1 MB {:.3g} ms, of 25 MB {:.3g} ms.\n",
        measured.ranks, 1e3 * measured.small, 1e3 * measured.medium, 1e3 * measured.large);
  }
  out << fmt::format("A hop {:.3g} ms, {:.3g} GB/s a rank.\n\n", 1e3 * model.link.latency,
                     model.link.bytes_per_second / 1e9);
  out << fmt::format(
      "Seconds a step, and what part of it is not spent waiting; {:.4g} weights, {:.3g} s for AdamW alone:\n\n",
      model.parameters, model.adamw_seconds);
  std::vector<std::vector<std::string>> rows = {{"ranks"}};
  for (const auto& optimizer : distributed::optimizer_costs()) rows.front().push_back(optimizer.name);
  rows.push_back({"bytes a weight"});
  for (const auto& optimizer : distributed::optimizer_costs()) {
    rows.back().push_back(fmt::format("{:.2g}", distributed::summed_bytes(model, optimizer) / model.parameters));
  }
  for (int ranks = 1; ranks <= 1024; ranks *= 2) {
    rows.push_back({std::to_string(ranks)});
    for (const auto& optimizer : distributed::optimizer_costs()) {
      const double seconds = distributed::step_seconds(model, optimizer, ranks);
      rows.back().push_back(
          fmt::format("{:.3g} {:.0f} %", seconds, 100.0 * distributed::step_seconds(model, optimizer, 1) / seconds));
    }
  }
  print_table(out, rows, Align::left);
}

}  // namespace

ScalingConfig parse_scaling(const Arguments& arguments) {
  ScalingConfig config;
  config.arguments = arguments;
  config.seconds = 5.3;
  config.rounds = 15;
  double gigabytes = 0.0;
  double milliseconds = 0.0;
  CLI::App app(
      "Measures how fast ranks sum over each other, and tells from it what a step would take on 1 to 1,024 of them, "
      "each with as many rows as one has now.",
      "lehi scaling");
  app.add_option("--nproc", config.processes, "measure with so many processes of this machine")
      ->check(CLI::Range(2, 1024));
  app.add_option("--parameters", config.parameters, "weights of the model; default: those of GPT-2 small")
      ->check(CLI::Range(1.0, 1e15));
  app.add_option("--step-seconds", config.seconds, "an AdamW step on one rank; default: GPT-2 small in docs/scaling.md")
      ->check(CLI::Range(1e-9, 1e9));
  app.add_option("--latency-ms", milliseconds, "of a hop, instead of measuring; with --gigabytes")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--gigabytes", gigabytes, "a second that a rank sends, instead of measuring; with --latency-ms")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--rounds", config.rounds, "of each measurement")->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_flag("--json", config.json, "print JSON");
  app.footer(
      "Examples:\n"
      "  lehi scaling --nproc 2\n"
      "  srun lehi scaling --parameters 1.2e9 --step-seconds 40\n"
      "  lehi scaling --latency-ms 0.05 --gigabytes 1.25");
  parse_arguments(app, arguments);
  if ((milliseconds > 0.0) != (gigabytes > 0.0)) throw UsageError("--latency-ms and --gigabytes belong together.");
  config.latency = milliseconds / 1e3;
  config.bytes_per_second = gigabytes * 1e9;
  if (config.latency > 0.0 && config.processes > 1) throw UsageError("--nproc measures what --latency-ms tells.");
  check_nproc(config.processes);
  if (config.latency == 0.0 && config.processes == 1 && !distributed::launch_of_process()) {
    throw UsageError(
        "nothing to measure with one rank: add --nproc 2, start it with mpirun or srun, or tell "
        "--latency-ms and --gigabytes.");
  }
  return config;
}

int run_scaling(const ScalingConfig& config, std::ostream& out, std::ostream& /*err*/) {
  if (config.processes > 1) {
    return distributed::run_local_ranks(config.processes, "/proc/self/exe",
                                        rank_arguments("scaling", config.arguments));
  }
  StepModel model{.parameters = config.parameters, .adamw_seconds = config.seconds};
  model.link = {.latency = config.latency, .bytes_per_second = config.bytes_per_second};
  Measured measured;
  if (config.latency == 0.0) {
    const auto ranks = distributed::join(*distributed::launch_of_process(), {});
    measured = measure(*ranks, config.rounds);
    if (ranks->rank() != 0) return done;
    model.link = distributed::link_of(measured.small, measured.large, 4.0 * large_floats, measured.ranks);
  }
  if (config.json) {
    out << to_json(measured, model).dump(2) << '\n';
  } else {
    print_model(measured, model, out);
  }
  return done;
}

}  // namespace lehi::cli
