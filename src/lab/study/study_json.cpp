#include "study/study_json.h"

#include "study/json.h"

namespace lehi::study {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json values_to_json(const std::vector<double>& values) {
  auto list = ordered_json::array();
  for (const double value : values) list.push_back(number_or_null(value));
  return list;
}

// Copied as JSON so that counts stay integers; null when there is no such number.
json number_of_result(const StudyRun& run, const char* key) {
  const auto found = run.result.find(key);
  return found != run.result.end() && found->is_number() ? *found : json();
}

}  // namespace

ordered_json to_json(const StudyRun& run) {
  ordered_json windows = ordered_json::object();
  for (const auto& [metric, window] : run.windows) {
    windows[metric] = {{"count", window.count},
                       {"mean", number_or_null(window.mean)},
                       {"two_std", number_or_null(window.two_std)},
                       {"score", number_or_null(window.score)},
                       {"values", values_to_json(window.values)}};
  }
  const auto judged = run.windows.find(run.metric);
  const Window window =
      judged != run.windows.end() ? judged->second : Window{.mean = kNan, .two_std = kNan, .score = kNan};
  return {{"task", run.task},
          {"preset", run.preset},
          {"optimizer", run.optimizer},
          {"variant", run.variant},
          {"lr", run.lr},
          {"seed", run.seed},
          {"status", status_text(run)},
          {"metric", run.metric},
          {"window", run.window},
          {"window_mean", number_or_null(window.mean)},
          {"window_two_std", number_or_null(window.two_std)},
          {"score", number_or_null(window.score)},
          {"seconds", number_of_result(run, "seconds")},
          {"steps", number_of_result(run, "steps")},
          {"forward_passes", number_of_result(run, "forward_passes")},
          {"backward_passes", number_of_result(run, "backward_passes")},
          {"peak_memory_bytes", number_of_result(run, "peak_memory_bytes")},
          {"largest_gradient", number_or_null(run.largest_gradient)},
          {"spike_steps", run.spike_steps},
          {"spike_evaluations", run.spike_evaluations},
          {"eps_dominated", number_or_null(run.eps_dominated)},
          {"phase", run.phase},
          {"directory", run.directory},
          {"message", run.message},
          {"windows", windows},
          {"result", run.result}};
}

ordered_json to_json(const Study& study) {
  ordered_json runs = ordered_json::array();
  for (const auto& run : study.runs) runs.push_back(to_json(run));
  ordered_json second_phases = ordered_json::array();
  for (const auto& second : study.second_phases) {
    second_phases.push_back({{"task", second.task}, {"best", second.best}, {"seeds", second.seeds}});
  }
  return {{"schema", Study::kSchema},
          {"kind", study.kind},
          {"lehi_version", study.lehi_version},
          {"command_line", study.command_line},
          {"started", study.started},
          {"finished", study.finished.empty() ? ordered_json() : ordered_json(study.finished)},
          {"protocol", study.second_phases.empty() ? "grid" : "two-phase"},
          {"second_phase", second_phases},
          {"runs", runs}};
}

}  // namespace lehi::study
