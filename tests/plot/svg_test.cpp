#include "plot/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <stdexcept>

#include "plot/well_formed.h"

namespace lehi::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Axes without padding and a frame of 100 x 50 pt, so that positions can be computed by hand from the frame's corner.
Figure bare_figure(Series series, bool x_log = false, bool y_log = false) {
  Panel panel{.x = {.log = x_log, .low = x_log ? 1.0 : 0.0, .high = 10.0},
              .y = {.log = y_log, .low = y_log ? 1.0 : 0.0, .high = 10.0},
              .grid = false};
  panel.series.push_back(std::move(series));
  return {.panels = {panel}, .panel_width = 100, .panel_height = 50};
}

struct FrameCorner {
  double left = 0.0;
  double bottom = 0.0;
};

// The frame is the first rectangle with an outline.
FrameCorner frame_corner(const std::string& svg) {
  static const std::regex frame(R"re(<rect x="([\d.]+)" y="([\d.]+)" width="100" height="50" fill="none")re");
  std::smatch match;
  if (!std::regex_search(svg, match, frame)) throw std::runtime_error("no frame in " + svg);
  return {std::stod(match[1]), std::stod(match[2]) + 50};
}

// The points of the paths with this colour, relative to the frame's lower left corner, y upwards; NaN where a new
// subpath begins.
std::vector<double> path_points(const std::string& svg, const std::string& colour) {
  const auto corner = frame_corner(svg);
  const std::regex path("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"" + colour + "\"");
  std::smatch match;
  if (!std::regex_search(svg, match, path)) return {};
  const auto data = match[1].str();
  std::vector<double> numbers;
  static const std::regex token(R"(M|-?[\d.]+)");
  int place_in_pair = 0;
  for (std::sregex_iterator at(data.begin(), data.end(), token), end; at != end; ++at) {
    if (at->str() == "M") {
      if (!numbers.empty()) numbers.push_back(std::nan(""));
      continue;
    }
    const double number = std::stod(at->str());
    numbers.push_back(place_in_pair++ % 2 == 0 ? number - corner.left : corner.bottom - number);
  }
  return numbers;
}

// Positions are rounded to hundredths, and so is the corner.
void expect_positions(const std::vector<double>& positions, const std::vector<double>& expected) {
  ASSERT_EQ(positions.size(), expected.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(positions[i])) << i;
    } else {
      EXPECT_NEAR(positions[i], expected[i], 0.0101) << i;
    }
  }
}

TEST(Svg, LinePositionsMatchHandComputation) {
  const auto svg = to_svg(bare_figure({.x = {0, 5, 10}, .y = {0, 10, 5}, .style = {.colour = "#123456"}}));
  expect_positions(path_points(svg, "#123456"), {0, 0, 50, 50, 100, 25});
}

TEST(Svg, LinePositionsOnLogAxesMatchHandComputation) {
  const double root = std::sqrt(10.0);
  const auto svg =
      to_svg(bare_figure({.x = {1, root, 10}, .y = {10, 1, root}, .style = {.colour = "#123456"}}, true, true));
  expect_positions(path_points(svg, "#123456"), {0, 50, 50, 0, 100, 25});
}

TEST(Svg, PointsThatAreNotFiniteInterruptTheLine) {
  const double nan_point = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto svg = to_svg(bare_figure(
      {.x = {0, 1, 2, 3, 4, 5, 6}, .y = {1, 2, nan_point, 3, 4, -infinity, 5}, .style = {.colour = "#123456"}}));
  expect_positions(path_points(svg, "#123456"), {0, 5, 10, 10, nan_point, 30, 15, 40, 20});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Svg, PointsThatALogAxisCannotShowInterruptTheLine) {
  const auto svg =
      to_svg(bare_figure({.x = {1, 2, 3, 10, 10}, .y = {1, 10, 0, 1, 10}, .style = {.colour = "#123456"}}, true, true));
  expect_positions(path_points(svg, "#123456"), {0, 0, 100 * std::log10(2.0), 50, std::nan(""), 100, 0, 100, 50});
}

TEST(Svg, LinesEndAtTheFrame) {
  const auto svg = to_svg(bare_figure({.x = {5, 5, 1e300}, .y = {5, 20, 1e300}, .style = {.colour = "#123456"}}));
  expect_positions(path_points(svg, "#123456"), {50, 25, 50, 50});
}

TEST(Svg, UnsetAxesFitTheData) {
  Figure figure = bare_figure({.x = {0, 100}, .y = {0, 1000}, .style = {.colour = "#123456"}});
  figure.panels[0].x = {};
  figure.panels[0].y = {};
  // The padding is 3 % of x and 5 % of y on each side.
  expect_positions(path_points(to_svg(figure), "#123456"),
                   {100 * 3 / 106.0, 50 * 5 / 110.0, 100 * 103 / 106.0, 50 * 105 / 110.0});
  // Points outside the set range of x do not count for y.
  figure.panels[0].series = {{.x = {0, 1, 2}, .y = {1e6, 0, 10}, .style = {.colour = "#123456"}}};
  figure.panels[0].x = {.low = 1.0, .high = 2.0};
  const auto positions = path_points(to_svg(figure), "#123456");
  ASSERT_GE(positions.size(), 4U);
  EXPECT_NEAR(positions[positions.size() - 1], 50 * 10.5 / 11, 0.0101);
}

TEST(Svg, ABandIsClosedAndExtendsToTheEndOfALogAxis) {
  Figure figure = bare_figure({}, false, true);
  figure.panels[0].bands.push_back(
      {.x = {0, 10}, .low = {-1, 1}, .high = {10, 10}, .colour = "#abcdef", .opacity = 0.25});
  const auto svg = to_svg(figure);
  const auto corner = frame_corner(svg);
  const std::regex area("<path d=\"M([\\d.]+) ([\\d.]+)[^\"]*z\" fill=\"#abcdef\" fill-opacity=\"0.25\"/>");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(svg, match, area)) << svg;
  EXPECT_NEAR(std::stod(match[1]), corner.left, 0.0101);
  EXPECT_NEAR(std::stod(match[2]), corner.bottom - 50, 0.0101);
}

TEST(Svg, AllStringsAreEscaped) {
  const std::string hostile = "<script>alert('x')</script> & \"quotes\" ]]> \x01 \xff π";
  Panel panel{.title = hostile, .x = {.label = hostile}, .y = {.label = hostile}};
  panel.series.push_back({.name = hostile, .x = {1, 2}, .y = {1, 2}, .style = {.colour = "red\" onload=\"alert(1)"}});
  panel.bands.push_back({.name = hostile + "2", .x = {1, 2}, .low = {0, 0}, .high = {1, 1}, .colour = "\"><script>"});
  const auto svg = to_svg({.title = hostile, .description = hostile, .panels = {panel}});
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("\" onload")));
  EXPECT_THAT(
      svg,
      HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quotes&quot; ]]&gt; \uFFFD \uFFFD π"));
  if (!has_python()) GTEST_SKIP() << "no python3";
  EXPECT_EQ(xml_error(svg), "");
}

TEST(Svg, IsWellFormedXmlWithEveryFeature) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  EXPECT_NE(xml_error("<svg><g></svg>"), "");  // the parser rejects invalid XML
  Figure figure{.title = "all", .columns = 2};
  for (const bool log : {false, true}) {
    Panel panel{.title = "t", .x = {.label = "x", .log = log}, .y = {.label = "y", .log = log}};
    for (const auto marker : {Marker::none, Marker::circle, Marker::square, Marker::diamond, Marker::triangle,
                              Marker::cross, Marker::star}) {
      for (const auto dash : {Dash::solid, Dash::dashed, Dash::dotted}) {
        panel.series.push_back({.name = std::to_string(panel.series.size()),
                                .x = {1e-5, 1, 1e5},
                                .y = {1e5, -1, 1e-5},
                                .style = {.opacity = 0.5, .dash = dash, .marker = marker, .hollow = log}});
      }
    }
    panel.bands.push_back({.name = "band", .x = {1, 2}, .low = {-1, 1}, .high = {2, 2}});
    panel.inset = Inset{.from = 1, .to = 2, .corner = log ? Corner::bottom_left : Corner::top_right};
    figure.panels.push_back(panel);
  }
  EXPECT_EQ(xml_error(to_svg(figure)), "");
}

TEST(Svg, EmptyFiguresAndPanelsAreValid) {
  const auto none = to_svg({});
  const auto empty = to_svg({.panels = {Panel{}, Panel{.x = {.log = true}, .y = {.log = true}}}});
  const auto without_points =
      to_svg({.panels = {Panel{.series = {{.name = "nan", .x = {NAN}, .y = {1}}, {.x = {}, .y = {}}}}}});
  for (const auto& svg : {none, empty, without_points}) {
    EXPECT_THAT(svg, ::testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""));
    EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan\" ")));
    EXPECT_TRUE(!has_python() || xml_error(svg).empty());
  }
  EXPECT_THAT(empty, HasSubstr(">0.4<"));  // axes from 0 to 1
}

TEST(Svg, HandlesExtremeNumbers) {
  const double largest = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const bool log : {false, true}) {
    for (const auto& values : {std::vector<double>{-largest, largest},
                               {least, largest},
                               {0, least},
                               {1e300, 1e300},
                               {-1e300, 1e300},
                               {5, 5},
                               {1, std::nextafter(1.0, 2.0)},
                               {-1, -1}}) {
      Panel panel{.x = {.log = log}, .y = {.log = log}};
      panel.series.push_back({.x = values, .y = values});
      panel.bands.push_back({.x = values, .low = values, .high = values});
      const auto svg = to_svg({.panels = {panel}});
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
      EXPECT_LT(svg.size(), 20000U);
    }
  }
}

TEST(Svg, LegendHasEachNameOnce) {
  Panel panel;
  panel.series.push_back({.name = "LEHI", .x = {0, 1}, .y = {0, 1}});
  panel.series.push_back({.name = "", .x = {0, 1}, .y = {0, 1}});
  panel.bands.push_back({.name = "LEHI", .x = {0, 1}, .low = {0, 0}, .high = {1, 1}});
  const auto count = [](const std::string& text) {
    std::size_t found = 0;
    for (auto at = text.find(">LEHI<"); at != std::string::npos; at = text.find(">LEHI<", at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(to_svg({.panels = {panel, panel}})), 1U);
  EXPECT_EQ(count(to_svg({.panels = {panel}, .legend = false})), 0U);
}

TEST(Svg, IsReproducibleAndSmall) {
  Series wave{.name = "wave"};
  for (int i = 0; i < 20000; ++i) {
    wave.x.push_back(i);
    wave.y.push_back(std::sin(i / 3000.0));
  }
  const auto svg = to_svg({.panels = {Panel{.series = {wave}}}});
  EXPECT_EQ(svg, to_svg({.panels = {Panel{.series = {wave}}}}));
  EXPECT_LT(svg.size(), 8000U);  // 20,000 points would be 200 kB
  static const std::regex long_decimals(R"(\.\d{3})");
  EXPECT_FALSE(std::regex_search(svg, long_decimals));
}

TEST(Svg, HasNoScriptsAndNoExternalReferences) {
  const auto svg = to_svg(bare_figure({.name = "a", .x = {0, 1}, .y = {0, 1}, .style = {.marker = Marker::star}}));
  for (const auto* word : {"<script", "href", "url(", "<image", "<style", " id=", " on"})
    EXPECT_THAT(svg, Not(HasSubstr(word)));
}

TEST(Svg, RejectsBadFiguresWithAMessage) {
  const auto message = [](const Figure& figure) {
    try {
      to_svg(figure);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.panels = {Panel{.series = {{.name = "a", .x = {1, 2}, .y = {1}}}}}}),
            "figure: series 'a' has 2 x and 1 y, expected equal numbers");
  EXPECT_EQ(message({.panels = {Panel{.bands = {{.name = "b", .x = {1}, .low = {1}, .high = {}}}}}}),
            "figure: band 'b' has 1 x, 1 low and 0 high, expected equal numbers");
  EXPECT_EQ(message({.panels = {Panel{.x = {.low = 2.0, .high = 1.0}}}}),
            "figure: the x axis runs from 2 to 1, expected ends in ascending order");
  EXPECT_EQ(message({.panels = {Panel{.y = {.log = true, .low = 0.0}}}}),
            "figure: the y axis is logarithmic and ends at 0, expected a positive number");
  EXPECT_EQ(message({.columns = 0}), "figure: panels of 190 x 125 pt in 0 columns, expected positive numbers");
}

}  // namespace
}  // namespace lehi::plot
