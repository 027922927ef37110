#include "report/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

namespace lehi::report {
namespace {

constexpr std::array result_keys = {"seconds",        "steps",           "step_seconds_min", "step_seconds_max",
                                    "forward_passes", "backward_passes", "peak_memory_bytes"};

std::string csv_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string csv_string(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string runs_csv(const Studies& studies) {
  std::vector<std::string> header = {"study", "run",    "task",   "preset",      "optimizer",      "variant", "lr",
                                     "seed",  "status", "metric", "window_mean", "window_two_std", "score"};
  header.insert(header.end(), result_keys.begin(), result_keys.end());
  for (const auto* name : {"largest_gradient", "spike_steps", "spike_evaluations", "eps_dominated", "message"}) {
    header.emplace_back(name);
  }
  std::string text = fmt::format("{}\r\n", fmt::join(header, ","));
  for (const auto& [directory, study] : studies.read) {
    for (const auto& run : study.runs) {
      const auto metric = study::reported_metric({&run});
      const auto window = run.windows.find(metric);
      const double two_std = window != run.windows.end() ? window->second.two_std : study::kNan;
      std::vector<std::string> row = {csv_string(directory.string()),
                                      csv_string(run.directory),
                                      csv_string(run.task),
                                      csv_string(run.preset),
                                      csv_string(run.optimizer),
                                      csv_string(run.variant),
                                      csv_number(run.lr),
                                      fmt::format("{}", run.seed),
                                      std::string(study::status_text(run)),
                                      csv_string(metric),
                                      csv_number(run.mean(metric)),
                                      csv_number(two_std),
                                      csv_number(run.score(metric))};
      for (const auto* key : result_keys) row.push_back(csv_number(run.number(key)));
      row.push_back(csv_number(run.largest_gradient));
      row.push_back(fmt::format("{}", run.spike_steps));
      row.push_back(fmt::format("{}", run.spike_evaluations));
      row.push_back(csv_number(run.eps_dominated));
      row.push_back(csv_string(run.message));
      text += fmt::format("{}\r\n", fmt::join(row, ","));
    }
  }
  return text;
}

}  // namespace lehi::report
