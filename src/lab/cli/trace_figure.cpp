#include "cli/trace_figure.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "lehi/error.h"
#include "plot/colours.h"
#include "plot/contour.h"

namespace lehi::cli {
namespace {

constexpr std::size_t grid_columns = 180;  // a cell is less than two pt wide
constexpr std::size_t grid_rows = 135;

std::vector<double> evenly_spaced(const plot::Range& range, std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = std::lerp(range.low, range.high, static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return numbers;
}

// NaN where the problem has no finite value: no contour passes there.
double value_or_nan(const Problem& problem, const torch::Tensor& w) {
  try {
    return value(problem, w);
  } catch (const NonFiniteError&) {
    return std::nan("");
  }
}

// The square root of f - minimum. It is nearly linear where f is nearly quadratic, so that linear interpolation between
// grid points is accurate, also close to the optimum.
plot::Grid root_grid(const Problem& problem, const plot::PanelRanges& window) {
  plot::Grid grid{.x = evenly_spaced(window.x, grid_columns), .y = evenly_spaced(window.y, grid_rows)};
  auto w = torch::empty({2}, torch::kFloat64);
  auto* entries_of_w = w.data_ptr<double>();
  for (const double y : grid.y) {
    for (const double x : grid.x) {
      entries_of_w[0] = x;
      entries_of_w[1] = y;
      const double above = value_or_nan(problem, w) - problem.minimum;
      grid.values.push_back(std::sqrt(std::max(above, 0.0)));
      if (std::isnan(above)) grid.values.back() = above;
    }
  }
  return grid;
}

// The levels, half powers of ten of f - minimum: from the 0.4 % quantile of the grid's values to the 98 % quantile.
std::vector<double> half_decades(const plot::Grid& grid) {
  std::vector<double> values;
  for (const double root : grid.values) {
    if (std::isfinite(root) && root > 0.0) values.push_back(root * root);
  }
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto half = [](double value) { return 2.0 * std::log10(value); };
  const int first = static_cast<int>(std::ceil(half(values[values.size() / 250])));
  const int last = static_cast<int>(std::floor(half(values[values.size() - 1 - values.size() / 50])));
  std::vector<double> levels;
  for (int k = first; k <= last; ++k) levels.push_back(std::pow(10.0, k / 2.0));
  return levels;
}

// From dark grey near the optimum to light grey.
std::string level_grey(std::size_t index, std::size_t count) {
  const double t = count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1) : 0.0;
  const int shade = static_cast<int>(std::lround(std::lerp(0x8c, 0xd8, t)));
  return fmt::format("#{0:02x}{0:02x}{0:02x}", shade);
}

// Two digits, plainly: 0.032, 320.
std::string level_text(double level) { return fmt::format("{:g}", std::stod(fmt::format("{:.1e}", level))); }

// Adds the contours, the lowest level first, and returns their legend.
std::string add_contours(const Problem& problem, const plot::PanelRanges& window, plot::Panel& panel) {
  const auto grid = root_grid(problem, window);
  const auto levels = half_decades(grid);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    auto line = plot::contour(grid, std::sqrt(levels[i]));
    line.style = {.colour = level_grey(i, levels.size()), .width = 0.5};
    panel.series.push_back(std::move(line));
  }
  if (levels.empty()) return "";
  return fmt::format("loss − minimum: {} to {}, two lines a decade", level_text(levels.front()),
                     level_text(levels.back()));
}

// "LEHI, lr 0.1, eps 1e-3" for lehi[lr=0.1,eps=1e-3].
std::string path_label(const TracePath& path) {
  const auto bracket = path.variant.find('[');
  auto label = plot::display_name(path.options.name);
  const auto inside = bracket == std::string::npos ? std::string() : path.variant.substr(bracket + 1);
  if (inside.rfind("lr=", 0) != 0 && inside.find(",lr=") == std::string::npos) {
    label += fmt::format(", lr {:g}", path.options.group.lr);
  }
  if (!inside.empty()) label += ", ";
  for (const char c : inside) {
    if (c == ',') {
      label += ", ";
    } else if (c == '=') {
      label += ' ';
    } else if (c != ']') {
      label += c;
    }
  }
  return label;
}

void add_paths(const std::vector<TracePath>& paths, plot::Panel& panel) {
  std::vector<std::string> variants;
  variants.reserve(paths.size());
  for (const auto& path : paths) variants.push_back(path.variant);
  const auto colours = plot::colours_of(variants);
  std::vector<plot::Series> ends;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    plot::Series line{.name = path_label(paths[i])};
    for (const auto& point : paths[i].points) {
      line.x.push_back(point.w[0]);
      line.y.push_back(point.w[1]);
    }
    // Each line is thinner than the one below it, so that paths along the same valley all stay visible.
    const auto on_top = static_cast<double>(paths.size() - 1 - i);
    line.style = {.colour = colours[i], .width = 1.0 + std::min(0.5 * on_top, 2.0)};
    ends.push_back(
        {.x = {line.x.back()}, .y = {line.y.back()}, .style = plot::marks(colours[i], plot::Marker::circle)});
    panel.series.push_back(std::move(line));
  }
  for (auto& end : ends) panel.series.push_back(std::move(end));
}

}  // namespace

plot::PanelRanges trace_window(const Problem& problem, const std::vector<TracePath>& paths) {
  const auto& start = paths.front().points.front().w;
  const double largest = std::max({std::abs(start[0] - problem.optimum[0]), std::abs(start[1] - problem.optimum[1])});
  const double span = largest > 0.0 ? largest : 1.0;
  const auto range = [&](std::size_t i) {
    double low = std::min(start[i], problem.optimum[i]);
    double high = std::max(start[i], problem.optimum[i]);
    const double lowest = low - 0.75 * span;
    const double highest = high + 0.75 * span;
    for (const auto& path : paths) {
      if (path.diverged) continue;
      for (const auto& point : path.points) {
        low = std::min(low, std::max(point.w[i], lowest));
        high = std::max(high, std::min(point.w[i], highest));
      }
    }
    const double missing =
        std::max(0.0, 0.5 * span - (high - low)) / 2;  // a path along an axis would make a narrow window
    const double room = 0.12 * std::max(high - low, 0.5 * span);
    return plot::Range{low - missing - room, high + missing + room};
  };
  return {range(0), range(1)};
}

plot::Figure trace_figure(const Problem& problem, const std::vector<TracePath>& paths) {
  const auto window = trace_window(problem, paths);
  plot::Panel panel{.x = {.label = "w1", .low = window.x.low, .high = window.x.high},
                    .y = {.label = "w2", .low = window.y.low, .high = window.y.high},
                    .grid = false};
  const auto contours = add_contours(problem, window, panel);
  add_paths(paths, panel);
  const auto& start = paths.front().points.front().w;
  auto start_mark = plot::marks("#000000", plot::Marker::square, true);
  start_mark.marker_size = 4.5;
  auto optimum_mark = plot::marks("#000000", plot::Marker::star);
  optimum_mark.marker_size = 8.0;
  panel.series.push_back({.name = "start", .x = {start[0]}, .y = {start[1]}, .style = start_mark});
  panel.series.push_back(
      {.name = "optimum", .x = {problem.optimum[0]}, .y = {problem.optimum[1]}, .style = optimum_mark});
  panel.series.push_back({.name = contours, .style = {.colour = level_grey(0, 1), .width = 0.5}});  // for the legend
  std::int64_t steps = 0;
  for (const auto& path : paths) steps = std::max(steps, path.points.back().step);
  return {.title = fmt::format("{}, {} steps", problem.name, steps),
          .description = fmt::format("Contours of {} ({}) and the paths of {} optimizers across them.", problem.name,
                                     problem.summary, paths.size()),
          .panels = {std::move(panel)},
          .panel_width = 320.0,
          .panel_height = 230.0};
}

}  // namespace lehi::cli
