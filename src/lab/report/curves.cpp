#include "report/curves.h"

#include <algorithm>
#include <cmath>

#include "study/run_directory.h"
#include "train/metrics_log.h"

namespace lehi::report {
namespace {

bool is_shown(const std::string& key) {
  return key == "step" || key == "epoch" || key == "seconds" || key == "grad_inf_norm" || key == "eps_dominated" ||
         key.ends_with("_loss") || key.ends_with("_accuracy");
}

}  // namespace

Curves read_curves(const study::StudyRun& run, const std::filesystem::path& study_directory,
                   std::size_t max_evaluations) {
  Curves curves;
  try {
    const auto file = study::run_file(run, study_directory, "metrics.jsonl");
    if (!std::filesystem::exists(file)) return curves;
    const auto lines = train::read_metrics(file);
    const std::size_t every = (lines.size() + max_evaluations - 1) / std::max<std::size_t>(max_evaluations, 1);
    std::size_t rows = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if ((lines.size() - 1 - i) % every != 0) continue;  // counted from the end, to include the last
      for (const auto& [key, value] : lines[i].items()) {
        if (!is_shown(key) || !value.is_number()) continue;
        auto& column = curves.columns[key];
        column.resize(rows, study::kNan);
        column.push_back(value.get<double>());
      }
      ++rows;
      for (auto& [key, column] : curves.columns) column.resize(rows, study::kNan);
    }
  } catch (const std::exception& error) {
    curves = {.columns = {}, .problem = error.what()};
  }
  return curves;
}

}  // namespace lehi::report
