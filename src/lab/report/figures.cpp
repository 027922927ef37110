#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "plot/colours.h"
#include "plot/smooth.h"
#include "report/curves.h"
#include "study/paper.h"

namespace lehi::report {

namespace {

constexpr std::size_t max_points = 1000;  // of a line

std::string axis_label(std::string metric) {
  std::replace(metric.begin(), metric.end(), '_', ' ');
  return metric;
}

// The mean over seeds of each evaluation, leaving out seeds that ended before it and values that are not finite.
std::vector<double> mean_over_seeds(const std::vector<std::vector<double>>& seeds) {
  std::vector<double> means;
  for (std::size_t i = 0;; ++i) {
    double sum = 0.0;
    double count = 0.0;
    bool any = false;
    for (const auto& values : seeds) {
      if (i >= values.size()) continue;
      any = true;
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      count += 1.0;
    }
    if (!any) return means;
    means.push_back(sum / count);
  }
}

void add_curves(const Section& section, const train::JudgeConfig& judge, const Picked& picked,
                const std::string& metric, const std::string& colour, plot::Panel& panel) {
  std::vector<std::vector<double>> all;
  std::vector<double> longest;
  for (const auto* run : picked.runs->runs) {
    auto columns = read_curves(*run, section.study_directory(*run), max_points).columns;
    auto x = columns["epoch"];
    auto y = columns[metric];
    const auto size = std::min(x.size(), y.size());
    const auto from = static_cast<std::size_t>(
        std::find_if(x.begin(), x.end(), [&](double epoch) { return epoch > static_cast<double>(judge.cut); }) -
        x.begin());
    if (from >= size) continue;
    x = {x.begin() + static_cast<std::ptrdiff_t>(from), x.begin() + static_cast<std::ptrdiff_t>(size)};
    y = {y.begin() + static_cast<std::ptrdiff_t>(from), y.begin() + static_cast<std::ptrdiff_t>(size)};
    if (x.size() > longest.size()) longest = x;
    panel.series.push_back({.name = "", .x = std::move(x), .y = y, .style = plot::faded(colour), .autoscale = false});
    all.push_back(std::move(y));
  }
  if (all.empty()) return;
  panel.series.push_back({.name = plot::display_name(picked.variant->variant),
                          .x = longest,
                          .y = plot::ema(mean_over_seeds(all), judge.smoothing),
                          .style = {.colour = colour}});
}

std::vector<std::string> colours_of(const Analysis& analysis) {
  std::vector<std::string> names;
  names.reserve(analysis.variants.size());
  for (const auto& variant : analysis.variants) names.push_back(variant.variant);
  return plot::colours_of(names);
}

std::string figure_title(const Section& section) {
  return section.preset == "paper" ? base::short_task(section.task)
                                   : fmt::format("{} ({})", base::short_task(section.task), section.preset);
}

plot::Figure curves_figure(const Section& section, const Analysis& analysis) {
  plot::Figure figure{.title = figure_title(section),
                      .description = "Training and test curves of each optimizer at its picked rate"};
  const auto colours = colours_of(analysis);
  const auto judge = judge_config(section);
  for (const std::string& metric : {std::string("train_loss"), analysis.metric}) {
    plot::Panel panel{
        .title = "", .x = {.label = "epoch"}, .y = {.label = axis_label(metric), .log = metric.ends_with("_loss")}};
    for (const auto& picked : analysis.picked) {
      const auto index = static_cast<std::size_t>(picked.variant - analysis.variants.data());
      add_curves(section, judge, picked, metric, colours[index], panel);
    }
    if (!panel.series.empty()) figure.panels.push_back(std::move(panel));
  }
  return figure;
}

plot::Figure rates_figure(const Section& section, const Analysis& analysis) {
  const auto& metric = analysis.selection_metric;
  plot::Panel panel{.title = "", .x = {.label = "learning rate", .log = true}, .y = {.label = axis_label(metric)}};
  const auto colours = colours_of(analysis);
  for (std::size_t i = 0; i < analysis.variants.size(); ++i) {
    const auto& variant = analysis.variants[i];
    plot::Series line{.name = plot::display_name(variant.variant),
                      .x = {},
                      .y = {},
                      .style = {.colour = colours[i], .marker = plot::Marker::circle, .marker_size = 3.5}};
    plot::Series paper{
        .name = "", .x = {}, .y = {}, .style = plot::marks(colours[i], plot::Marker::diamond, /*hollow=*/true)};
    plot::Band band{.x = {}, .low = {}, .high = {}, .colour = colours[i], .autoscale = false};
    for (const auto& rate : variant.rates) {
      const double mean = study::mean_of_windows(rate, metric);
      const double reach = std::abs(study::mean_score(rate, metric) - mean);  // 2 std, mean over seeds
      line.x.push_back(rate.lr);
      line.y.push_back(mean);
      band.low.push_back(mean - reach);
      band.high.push_back(mean + reach);
      const auto* cell = section.held_out ? nullptr : study::paper_cell(section.task, variant.variant, rate.lr);
      if (cell == nullptr) continue;
      paper.x.push_back(rate.lr);
      paper.y.push_back(cell->mean);
    }
    band.x = line.x;
    panel.bands.push_back(std::move(band));
    panel.series.push_back(std::move(line));
    if (!paper.x.empty()) panel.series.push_back(std::move(paper));
  }
  return {.title = figure_title(section),
          .description =
              "Mean over the last evaluations by learning rate, with 2 standard deviations; hollow diamonds are the "
              "paper's values",
          .panels = {panel},
          .panel_width = 260.0,
          .panel_height = 160.0};
}

}  // namespace

std::vector<NamedFigure> figures_of(const Studies& studies) {
  std::vector<NamedFigure> figures;
  for (const auto& section : sections_of(studies.read)) {
    const Analysis analysis(section);
    const auto name = base::safe_name(
        fmt::format("{}-{}{}", base::short_task(section.task), section.preset, section.held_out ? "-held-out" : ""));
    if (auto curves = curves_figure(section, analysis); !curves.panels.empty()) {
      figures.push_back({name + "-curves", std::move(curves)});
    }
    if (analysis.searched && !analysis.picked.empty()) {
      figures.push_back({name + "-rates", rates_figure(section, analysis)});
    }
  }
  return figures;
}

}  // namespace lehi::report
