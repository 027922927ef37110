#include "cli/scaling.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/rank_arguments.h"
#include "cli/table.h"
#include "distributed/launch.h"
#include "distributed/link.h"
#include "distributed/local_ranks.h"
#include "distributed/process_ranks.h"

namespace lehi::cli {
namespace {

using distributed::Link;
using distributed::SumTimes;

nlohmann::ordered_json to_json(int ranks, const SumTimes& times, const Link& link, double parameters) {
  nlohmann::ordered_json result = {{"measured",
                                    {{"ranks", ranks},
                                     {"seconds_4_bytes", times.small},
                                     {"seconds_1_mb", times.medium},
                                     {"seconds_25_mb", times.large}}},
                                   {"latency", link.latency},
                                   {"bytes_per_second", link.bytes_per_second},
                                   {"parameters", parameters}};
  for (const auto& [optimizer, bytes_a_weight] : distributed::summed_bytes()) {
    result["summed_bytes"][optimizer] = bytes_a_weight * parameters;
  }
  return result;
}

void print_link(int ranks, const SumTimes& times, const Link& link, double parameters, std::ostream& out) {
  out << fmt::format(
      "Measured with {} ranks, medians: a sum of 4 bytes {:.3g} ms, of 1 MB {:.3g} ms, of 25 MB {:.3g} ms.\n", ranks,
      1e3 * times.small, 1e3 * times.medium, 1e3 * times.large);
  out << fmt::format("Latency of a hop {:.3g} ms, bandwidth of a rank {:.3g} GB/s.\n\n", 1e3 * link.latency,
                     link.bytes_per_second / 1e9);
  out << fmt::format("Summed over the ranks in a step, {:.4g} weights:\n\n", parameters);
  std::vector<std::vector<std::string>> rows = {{"optimizer", "bytes a weight", "MB a step"}};
  for (const auto& [optimizer, bytes_a_weight] : distributed::summed_bytes()) {
    rows.push_back(
        {optimizer, fmt::format("{:.2g}", bytes_a_weight), fmt::format("{:.4g}", bytes_a_weight * parameters / 1e6)});
  }
  print_table(out, rows, Align::left);
  out << "\ndocs/guides/scaling.md has the formula for the time of a step from these numbers.\n";
}

}  // namespace

ScalingConfig parse_scaling(const Arguments& arguments) {
  ScalingConfig config;
  config.arguments = arguments;
  CLI::App app(
      "Measures latency and bandwidth between the ranks, and prints the bytes that a step of each optimizer sums over "
      "them. docs/guides/scaling.md has the formula for the time of a step from these numbers.",
      "lehi scaling");
  app.add_option("--nproc", config.processes, "start so many ranks on this machine and measure with them")
      ->check(CLI::Range(2, 1024));
  app.add_option("--parameters", config.parameters, "weights of the model; default: those of GPT-2 small")
      ->check(CLI::Range(1.0, 1e15));
  app.add_option("--rounds", config.rounds, "of each measurement")->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_flag("--json", config.json, "print JSON");
  app.footer(
      "Examples:\n"
      "  lehi scaling --nproc 2\n"
      "  srun lehi scaling --parameters 1.2e9");
  parse_arguments(app, arguments);
  check_nproc(config.processes);
  if (config.processes == 1 && !distributed::launch_of_process()) {
    throw UsageError("one rank has no link to measure: add --nproc 2, or start `lehi scaling` with mpirun or srun.");
  }
  return config;
}

int run_scaling(const ScalingConfig& config, std::ostream& out, std::ostream& /*err*/) {
  if (config.processes > 1) {
    return distributed::run_local_ranks(config.processes, "/proc/self/exe",
                                        rank_arguments("scaling", config.arguments));
  }
  const auto ranks = distributed::join(*distributed::launch_of_process(), {});
  const SumTimes times = distributed::measure_sums(*ranks, config.rounds);
  if (ranks->rank() != 0) return done;
  const Link link = distributed::link_from(times, ranks->size());
  if (config.json) {
    out << to_json(ranks->size(), times, link, config.parameters).dump(2) << '\n';
  } else {
    print_link(ranks->size(), times, link, config.parameters, out);
  }
  return done;
}

}  // namespace lehi::cli
