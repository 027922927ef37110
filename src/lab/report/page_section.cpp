#include "report/page_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/files.h"
#include "report/curves.h"
#include "report/paper_comparison.h"
#include "report/seed_tables.h"
#include "report/study_report.h"
#include "report/summary.h"
#include "study/paper.h"
#include "study/run_directory.h"
#include "study/stability.h"

namespace lehi::report {

using nlohmann::ordered_json;
using study::RateRuns;
using study::StudyRun;

namespace {

constexpr std::uint64_t max_config_bytes = 1U << 16U;

// Six significant digits: enough for the charts, and a third of the bytes.
ordered_json rounded_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6g}", value));
}

struct BlockJson {
  ordered_json operator()(const Heading& heading) const {
    return {{"type", "heading"}, {"level", heading.level}, {"text", heading.text}};
  }
  ordered_json operator()(const Paragraph& paragraph) const {
    return {{"type", "paragraph"}, {"text", paragraph.text}};
  }
  ordered_json operator()(const Commands& commands) const { return {{"type", "commands"}, {"lines", commands.lines}}; }
  ordered_json operator()(const List& list) const { return {{"type", "list"}, {"items", list.items}}; }
  ordered_json operator()(const Table& table) const {
    return {{"type", "table"}, {"rows", table.rows}, {"left", table.left}};
  }
  ordered_json operator()(const Picture& picture) const {
    return {{"type", "paragraph"}, {"text", fmt::format("{}: {}", picture.text, picture.file)}};
  }
};

ordered_json blocks_json(const Document& document) {
  auto blocks = ordered_json::array();
  for (const auto& block : document) blocks.push_back(std::visit(BlockJson(), block));
  return blocks;
}

ordered_json paper_json(const Section& section, const study::VariantRuns& variant, const RateRuns& rate) {
  if (section.held_out) return nullptr;  // the paper's runs train on all rows
  const auto* cell = study::paper_cell(section.task, variant.variant, rate.lr);
  if (cell == nullptr || !difference_from_paper_preset(section, *rate.runs.front()).empty()) return nullptr;
  return {{"mean", cell->mean}, {"two_std", cell->two_std}};
}

ordered_json rate_json(const Section& section, const Analysis& analysis, const study::VariantRuns& variant,
                       const RateRuns& rate) {
  const auto stability = study::stability_of(rate);
  double two_std = 0.0;
  for (const auto* run : rate.runs) {
    const auto window = run->windows.find(analysis.selection_metric);
    if (window != run->windows.end()) two_std += window->second.two_std / static_cast<double>(rate.finished());
  }
  auto indices = ordered_json::array();
  for (const auto* run : rate.runs) {
    indices.push_back(std::find(section.runs.begin(), section.runs.end(), run) - section.runs.begin());
  }
  const double mean = study::mean_of_windows(rate, analysis.selection_metric);
  const bool known = stability.status != study::StabilityStatus::unknown;
  return {{"lr", rate.lr},
          {"score", rounded_number(study::mean_score(rate, analysis.selection_metric))},
          {"mean", rounded_number(mean)},
          {"two_std", std::isfinite(mean) ? rounded_number(two_std) : ordered_json()},
          {"paper", paper_json(section, variant, rate)},
          {"stability", known ? ordered_json(study::status_text(stability.status)) : ordered_json()},
          {"largest_gradient", rounded_number(stability.largest_gradient)},
          {"spike_evaluations", rounded_number(stability.spike_evaluations)},
          {"spike_steps", rounded_number(stability.spike_steps)},
          {"diverged", stability.diverged},
          {"runs", indices}};
}

ordered_json optimizers_json(const Section& section, const Analysis& analysis) {
  auto optimizers = ordered_json::array();
  for (const auto& variant : analysis.variants) {
    const auto picked = std::find_if(analysis.picked.begin(), analysis.picked.end(),
                                     [&](const auto& entry) { return entry.variant == &variant; });
    auto rates = ordered_json::array();
    for (const auto& rate : variant.rates) rates.push_back(rate_json(section, analysis, variant, rate));
    optimizers.push_back(
        {{"name", variant.variant},
         {"picked", picked != analysis.picked.end() ? ordered_json(picked->selection.index) : ordered_json()},
         {"rates", rates}});
  }
  return optimizers;
}

std::string config_text(const StudyRun& run, const std::filesystem::path& study_directory) {
  try {
    return read_text(study::run_file(run, study_directory, "config.toml"), max_config_bytes);
  } catch (const std::exception&) {
    return "";  // a run that has not started has no configuration
  }
}

// The values that a list can show: numbers, strings and booleans.
ordered_json result_json(const StudyRun& run) {
  auto result = ordered_json::object();
  for (const auto& [key, value] : run.result.items()) {
    if (value.is_number_float()) {
      result[key] = rounded_number(value.get<double>());
    } else if (value.is_number() || value.is_string() || value.is_boolean()) {
      result[key] = value;
    }
  }
  return result;
}

ordered_json run_json(const StudyRun& run, const std::filesystem::path& study_directory, std::size_t max_evaluations) {
  const auto curves = read_curves(run, study_directory, max_evaluations);
  auto series = ordered_json::object();
  for (const auto& [name, column] : curves.columns) {
    auto& values = series[name] = ordered_json::array();
    for (const double value : column) values.push_back(rounded_number(value));
  }
  auto message = run.message;
  if (!curves.problem.empty()) message += (message.empty() ? "" : "; ") + curves.problem;
  const double steps = run.number("steps");
  return {{"name", run.directory},
          {"optimizer", run.variant},
          {"lr", rounded_number(run.lr)},
          {"seed", run.seed},
          {"status", study::status_text(run)},
          {"message", message},
          {"config", config_text(run, study_directory)},
          {"result", result_json(run)},
          {"forward_per_step", rounded_number(run.number("forward_passes") / steps)},
          {"backward_per_step", rounded_number(run.number("backward_passes") / steps)},
          {"series", series}};
}

}  // namespace

ordered_json section_json(const Section& section, std::size_t number, std::size_t max_evaluations) {
  const Analysis analysis(section);
  const auto judge = judge_config(section);
  Document summary;
  for (auto& sentence : summary_sentences(analysis)) summary.push_back(Paragraph{std::move(sentence)});
  if (analysis.baseline != nullptr) summary.push_back(seeds_table(analysis));
  auto runs = ordered_json::array();
  for (const auto* run : section.runs) runs.push_back(run_json(*run, section.study_directory(*run), max_evaluations));
  return {{"id", fmt::format("section-{}", number)},
          {"title", section.title()},
          {"task", section.task},
          {"metric", analysis.metric},
          {"larger_is_better", study::larger_is_better(analysis.metric)},
          {"selected_by", analysis.selection_metric},
          {"window", section.window()},
          {"baseline", analysis.baseline != nullptr ? analysis.baseline->variant->variant : ""},
          {"smoothing", judge.smoothing},
          {"cut_epochs", judge.cut},
          {"summary", blocks_json(summary)},
          {"blocks", blocks_json(section_report(section, analysis))},
          {"optimizers", optimizers_json(section, analysis)},
          {"runs", runs}};
}

}  // namespace lehi::report
