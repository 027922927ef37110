#include "cli/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/nearest.h"
#include "bench/memory.h"
#include "cli/arguments.h"
#include "cli/table.h"
#include "files/files.h"
#include "plot/svg.h"

namespace lehi::cli {
namespace {

std::string topics_help() {
  std::string text = "Topics:\n";
  for (const auto& topic : bench::topics()) text += fmt::format("  {:<8} {}\n", topic.name, topic.summary);
  return text;
}

std::vector<std::string> chosen_topics(const std::string& list) {
  std::vector<std::string> known;
  known.reserve(bench::topics().size());
  for (const auto& topic : bench::topics()) known.emplace_back(topic.name);
  std::vector<std::string> chosen;
  for (const auto name : split_at_commas(list)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError(fmt::format("--only: there is no topic '{}'{}; expected some of {}", name,
                                   base::suggestion(name, known), fmt::join(known, ", ")));
    }
    chosen.emplace_back(name);
  }
  return chosen;
}

void print_measurement_table(const std::vector<bench::Measurement>& measurements, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {{"name", "value", "unit", "bound", ""}};
  std::string topic;
  for (const auto& measurement : measurements) {
    if (!topic.empty() && topic != bench::topic_of(measurement.name)) rows.push_back({"", "", "", "", ""});
    topic = bench::topic_of(measurement.name);
    const bool ok = bench::is_ok(measurement);
    const char* verdict = ok ? (measurement.bound ? "ok" : "") : (measurement.problem.empty() ? "missed" : "wrong");
    rows.push_back({measurement.name, short_number(measurement.value, 3), measurement.unit,
                    bench::bound_text(measurement.bound), verdict});
  }
  print_table(out, rows, Align::left);
}

void write_report(const std::string& destination, const bench::Session& session, std::ostream& err) {
  const auto publish = [&](const std::filesystem::path& file, const std::string& text) {
    publish_text(file, text);
    err << fmt::format("lehi: wrote {}\n", file.string());
  };
  const auto figure = plot::to_svg(bench::growth_figure(session.curves()));
  if (destination.ends_with(".svg")) return publish(destination, figure);
  const std::filesystem::path directory = destination;
  make_directories(directory);
  publish(directory / "growth.svg", figure);
  publish(directory / "bench.json", bench::measurements_json(session.measurements()).dump(2) + "\n");
}

// Prints one line per reason.
void print_unmeasured(const std::vector<bench::Unmeasured>& unmeasured, std::ostream& err) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const auto& missing : unmeasured) {
    const auto same =
        std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& one) { return one.first == missing.reason; });
    auto& names = same == by_reason.end() ? by_reason.emplace_back(missing.reason, std::vector<std::string>{}) : *same;
    names.second.push_back(missing.name);
  }
  for (const auto& [reason, names] : by_reason) {
    err << fmt::format("lehi: not measured: {}: {}\n", fmt::join(names, ", "), reason);
  }
}

}  // namespace

BenchConfig parse_bench(const Arguments& arguments) {
  BenchConfig config;
  std::string only;
  CLI::App app(
      "Measure the speed and memory of this build on this machine as ratios, most of them with a bound. Each measured "
      "computation is first compared with its plain version. Takes about ten minutes on two cores.",
      "lehi bench");
  app.add_flag("--json", config.json, "print a JSON list of {name, value, unit, bound, ok}");
  app.add_flag("--check", config.check, "exit with code 1 if a bound is missed or not measured");
  app.add_option("--only", only, "topics to measure, separated by commas [default: all]")->type_name("TOPIC,...");
  app.add_flag("--correctness", config.settings.correctness, "run the comparisons with the plain versions only");
  app.add_option("--report", config.report,
                 "write the growth curves to a file NAME.svg, or the curves and bench.json to a directory")
      ->type_name("PATH");
  app.add_option("--rounds", config.settings.rounds,
                 "number of rounds of each measurement [default: 3 to 11, depending on the measurement]")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--growth-large", config.settings.growth_large,
               "measure growth up to 1.2 billion weights; needs 18 GB of memory and some minutes");
  app.add_option("--python", config.settings.python, "Python interpreter with torch, for the topic torch")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--memory-of", config.memory_of)->group("");
  app.footer(topics_help() +
             "\nExamples:\n"
             "  lehi bench\n"
             "  lehi bench --only update,loss --rounds 21\n"
             "  lehi bench --json --check > bench.json\n"
             "  lehi bench --only growth --growth-large --report growth.svg\n"
             "  lehi bench --correctness");
  parse_arguments(app, arguments);
  if (!only.empty()) config.settings.topics = chosen_topics(only);
  const auto& chosen = config.settings.topics;
  const bool grows = chosen.empty() || std::find(chosen.begin(), chosen.end(), "growth") != chosen.end();
  if (!config.report.empty() && (!grows || config.settings.correctness)) {
    throw UsageError("--report needs the topic growth, and timing");
  }
  if (config.settings.growth_large && !grows) throw UsageError("--growth-large needs the topic growth");
  return config;
}

int print_measurements(const BenchConfig& config, const std::vector<bench::Measurement>& measurements,
                       const std::vector<bench::Unmeasured>& unmeasured, std::ostream& out, std::ostream& err) {
  if (config.json) {
    out << bench::measurements_json(measurements).dump(2) << '\n';
  } else {
    print_measurement_table(measurements, out);
  }
  print_unmeasured(unmeasured, err);
  std::vector<std::string> missed;
  for (const auto& measurement : measurements) {
    if (!bench::is_ok(measurement)) missed.push_back(measurement.name);
  }
  if (!missed.empty()) {
    err << fmt::format("lehi: {} of {} measurements not ok: {}\n", missed.size(), measurements.size(),
                       fmt::join(missed, ", "));
  }
  if (!config.check) return done;
  const bool unknown = std::any_of(unmeasured.begin(), unmeasured.end(), [](const auto& one) { return one.bounded; });
  if (unknown) err << "lehi: --check fails, because a measurement with a bound is missing\n";
  return missed.empty() && !unknown ? done : internal_error;
}

int run_bench(const BenchConfig& config, std::ostream& out, std::ostream& err) {
  if (!config.memory_of.empty()) {
    out << bench::peak_of_steps(config.memory_of) << '\n' << std::flush;
    return done;
  }
  bench::BenchProgress progress(err, bench::expected_seconds(config.settings));
  bench::Session session(config.settings, progress, err);
  bench::run_topics(session);
  if (!config.report.empty()) write_report(config.report, session, err);
  return print_measurements(config, session.measurements(), session.unmeasured(), out, err);
}

}  // namespace lehi::cli
