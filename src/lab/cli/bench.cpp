#include "cli/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

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
  for (const auto& topic : bench::topics()) known.emplace_back(topic.name);
  std::vector<std::string> chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    const auto name = list.substr(begin, end - begin);
    begin = end + 1;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError(fmt::format("--only: there is no topic '{}'{}; expected some of {}", name,
                                   base::suggestion(name, known), fmt::join(known, ", ")));
    }
    chosen.push_back(name);
  }
  return chosen;
}

void print_figure_table(const std::vector<bench::Measurement>& figures, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {{"name", "value", "unit", "bound", ""}};
  std::string topic;
  for (const auto& figure : figures) {
    if (!topic.empty() && topic != bench::topic_of(figure.name)) rows.push_back({"", "", "", "", ""});
    topic = bench::topic_of(figure.name);
    const bool ok = bench::is_ok(figure);
    const char* verdict = ok ? (figure.bound ? "ok" : "") : (figure.problem.empty() ? "missed" : "wrong");
    rows.push_back({figure.name, short_number(figure.value, 3), figure.unit, bench::bound_text(figure.bound), verdict});
  }
  print_table(out, rows, Align::left);
}

void write_report(const std::string& place, const bench::Session& session, std::ostream& err) {
  const auto publish = [&](const std::filesystem::path& file, const std::string& text) {
    publish_text(file, text);
    err << fmt::format("lehi: wrote {}\n", file.string());
  };
  const auto figure = plot::to_svg(bench::growth_figure(session.curves()));
  if (place.ends_with(".svg")) return publish(place, figure);
  make_directories(place);
  publish(std::filesystem::path(place) / "growth.svg", figure);
  publish(std::filesystem::path(place) / "bench.json", bench::figures_json(session.figures()).dump(2) + "\n");
}

// One sentence a reason.
void say_unmeasured(const std::vector<bench::Unmeasured>& unmeasured, std::ostream& err) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const auto& [name, reason, bounded] : unmeasured) {
    const auto same =
        std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& one) { return one.first == reason; });
    auto& names = same == by_reason.end() ? by_reason.emplace_back(reason, std::vector<std::string>{}) : *same;
    names.second.push_back(name);
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
      "Measures this build on this machine, in about ten minutes on two cores: ratios of times taken side by side, "
      "each beside the bound that it must keep. What is timed is first compared with its plain version.",
      "lehi bench");
  app.add_flag("--json", config.json, "print a JSON list of {name, value, unit, bound, ok}");
  app.add_flag("--check", config.check, "exit with 1 when a bound is missed, or could not be measured");
  app.add_option("--only", only, "topics, separated by commas");
  app.add_flag("--correctness", config.settings.correctness, "only the comparisons with the plain versions, no timing");
  app.add_option("--report", config.report,
                 "write the growth curves: to FILE.svg, or to a directory, with bench.json beside them");
  app.add_option("--rounds", config.settings.rounds, "rounds of every measurement; default: 3 to 11")
      ->check(CLI::PositiveNumber);
  app.add_flag("--growth-large", config.settings.growth_large,
               "growth up to 1.2 billion weights (needs 18 GB, and some minutes)");
  app.add_option("--python", config.settings.python, "the Python of the torch topic")->capture_default_str();
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
    throw UsageError("--report shows how time grows: it needs the topic growth, and timing");
  }
  if (config.settings.growth_large && !grows) throw UsageError("--growth-large needs the topic growth");
  return config;
}

int print_figures(const BenchConfig& config, const std::vector<bench::Measurement>& figures,
                  const std::vector<bench::Unmeasured>& unmeasured, std::ostream& out, std::ostream& err) {
  if (config.json) {
    out << bench::figures_json(figures).dump(2) << '\n';
  } else {
    print_figure_table(figures, out);
  }
  say_unmeasured(unmeasured, err);
  std::vector<std::string> missed;
  for (const auto& figure : figures) {
    if (!bench::is_ok(figure)) missed.push_back(figure.name);
  }
  if (!missed.empty())
    err << fmt::format("lehi: {} of {} not ok: {}\n", missed.size(), figures.size(), fmt::join(missed, ", "));
  if (!config.check) return done;
  const bool unknown = std::any_of(unmeasured.begin(), unmeasured.end(), [](const auto& one) { return one.bounded; });
  if (unknown) err << "lehi: a bound that was not measured has not been met\n";
  return missed.empty() && !unknown ? done : internal_error;
}

int run_bench(const BenchConfig& config, std::ostream& out, std::ostream& err) {
  if (!config.memory_of.empty()) {
    out << bench::peak_of_steps(config.memory_of) << std::endl;  // NOLINT(performance-avoid-endl): a pipe is reading
    return done;
  }
  bench::BenchProgress progress(err, bench::expected_seconds(config.settings));
  bench::Session session(config.settings, progress, err);
  bench::run_topics(session);
  if (!config.report.empty()) write_report(config.report, session, err);
  return print_figures(config, session.figures(), session.unmeasured(), out, err);
}

}  // namespace lehi::cli
