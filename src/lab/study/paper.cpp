#include "study/paper.h"

#include <algorithm>
#include <cmath>

#include "files/files.h"
#include "study/statistics.h"
#include "train/embedded.h"
#include "train/json_file.h"

namespace lehi::study {
namespace {

PaperCell cell_from(const nlohmann::json& cell, const std::string& where) {
  return {.lr = train::number_field(cell, "lr", where),
          .mean = train::number_field(cell, "mean", where),
          .two_std = train::number_field(cell, "two_std", where)};
}

std::map<std::string, PaperTask> read_tables() {
  const std::string where = "configs/paper_tables.json";
  const auto text = train::embedded_text("paper_tables.json");
  if (!text) throw FileError(where + " is missing from the program; rebuild it");
  const auto document = train::parse_json(*text, where);
  std::map<std::string, PaperTask> tables;
  for (const auto& [task, values] : train::object_field(document, "tasks", where).items()) {
    PaperTask table;
    table.metric = train::text_field(values, "metric", where);
    table.window = train::count_field(values, "window", where);
    for (const auto& [optimizer, cells] : train::object_field(values, "lr_search", where).items()) {
      for (const auto& cell : cells) {
        table.search[optimizer].push_back(cell_from(cell, where));
      }
    }
    for (const auto& cell : train::field(values, "three_seed_summary", where)) {
      table.summary[train::text_field(cell, "optimizer", where)].push_back(cell_from(cell, where));
    }
    tables[task] = std::move(table);
  }
  for (const auto& cell : train::field(document, "ptb_stability", where)) {
    tables["ptb"].stability[train::text_field(cell, "optimizer", where)].push_back(
        {train::number_field(cell, "lr", where), train::number_field(cell, "max_grad_inf_norm", where),
         train::number_field(cell, "avg_spikes", where), train::count_field(cell, "nan_failures", where),
         train::text_field(cell, "status", where)});
  }
  return tables;
}

using PaperCells = std::map<std::string, std::vector<PaperCell>>;

const PaperCell* cell_of(std::string_view task, PaperCells PaperTask::*part, std::string_view optimizer, double lr) {
  const auto table = paper_tables().find(std::string(task));
  if (table == paper_tables().end()) return nullptr;
  const auto& rows = table->second.*part;
  const auto cells = rows.find(std::string(optimizer));
  if (cells == rows.end()) return nullptr;
  const auto cell = std::find_if(cells->second.begin(), cells->second.end(),
                                 [lr](const auto& candidate) { return std::abs(candidate.lr - lr) <= 1e-9 * lr; });
  return cell != cells->second.end() ? &*cell : nullptr;
}

}  // namespace

const std::map<std::string, PaperTask>& paper_tables() {
  static const auto tables = read_tables();
  return tables;
}

const PaperCell* paper_cell(std::string_view task, std::string_view optimizer, double lr) {
  return cell_of(task, &PaperTask::search, optimizer, lr);
}

const PaperCell* paper_summary_cell(std::string_view task, std::string_view optimizer, double lr) {
  return cell_of(task, &PaperTask::summary, optimizer, lr);
}

double paper_tolerance(std::string_view metric, const PaperCell& cell) {
  constexpr double relative = 0.025;
  constexpr double points = 0.5;
  return std::max(2.0 * cell.two_std, larger_is_better(metric) ? points : relative * std::abs(cell.mean));
}

}  // namespace lehi::study
