#include "bench/growth_curve.h"

#include <algorithm>

#include "plot/colours.h"

namespace lehi::bench {

double largest_excess(const GrowthCurve& curve) {
  double largest = 1.0;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const GrowthPoint& before = curve.points[i - 1];
    const GrowthPoint& after = curve.points[i];
    const double excess = (after.seconds / before.seconds) / (after.arithmetic / before.arithmetic);
    largest = i == 1 ? excess : std::max(largest, excess);
  }
  return largest;
}

plot::Figure growth_figure(const std::vector<GrowthCurve>& curves) {
  plot::Figure figure{
      .title = "Seconds per LEHI step of GPT-2 models",
      .description = "Measured seconds per step against each size, beside the growth of the arithmetic."};
  for (const GrowthCurve& curve : curves) {
    plot::Panel panel{
        .title = curve.name, .x = {.label = curve.axis, .log = true}, .y = {.label = "seconds per step", .log = true}};
    plot::Series measured{.name = "measured",
                          .style = {.colour = plot::colour_of("lehi"), .marker = plot::Marker::circle}};
    plot::Series arithmetic{.name = "arithmetic, at the largest model's rate",
                            .style = {.colour = "#555555", .dash = plot::Dash::dashed}};
    for (const GrowthPoint& point : curve.points) {
      const GrowthPoint& largest = curve.points.back();
      measured.x.push_back(point.size);
      measured.y.push_back(point.seconds);
      arithmetic.x.push_back(point.size);
      arithmetic.y.push_back(largest.seconds * point.arithmetic / largest.arithmetic);
    }
    panel.series = {arithmetic, measured};
    figure.panels.push_back(panel);
  }
  return figure;
}

}  // namespace lehi::bench
