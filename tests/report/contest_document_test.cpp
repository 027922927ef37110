#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plot/svg.h"
#include "plot/well_formed.h"
#include "report/contest_example.h"
#include "report/contest_report.h"

namespace lehi::report {
namespace {

using testing::contest_arm;
using testing::contest_control;
using testing::contest_result;
using testing::contest_task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::with_speed_up;

contest::Result filled_contest() {
  auto kron = with_speed_up(contest_arm("lehi-kron", {1.31, 1.30, 1.29}), 0.5, 0.6);
  kron.lr = 0.003;
  kron.rate_at_edge = true;
  kron.knob = "optimizer.weight_decay=0.1";
  kron.time = {.ratio = 1.2, .low = 1.1, .high = 1.3, .seconds = 0.05};
  kron.steps = 666;
  kron.trials = {{.lr = 0.003, .knob = "", .value = 1.5}, {.lr = 0.01, .knob = "", .value = NAN}};
  auto random = contest_control("random", {1.42, 1.40, 1.38});
  random.label = "<b>S</b> | random_matrix & \"more\"";
  auto gpt = contest_task("gpt-small", {contest_arm("adamw", {1.51, 1.50, 1.49}), kron, random});
  gpt.title = "GPT, 0.4M weights";
  gpt.steps = 800;
  auto small = contest_task("protein-16", {contest_arm("adamw", {2.0, 2.0}), contest_arm("lehi-kron", {1.9, 1.8})});
  small.group = "protein";
  small.batch_size = 16;
  auto large = small;
  large.name = "protein-64";
  large.batch_size = 64;
  auto result = contest_result({gpt, small, large});
  result.machine = "2 cores";
  result.command_line = {"lehi", "contest", "full"};
  result.missing = {"gpt-large has not been run."};
  return result;
}

TEST(ContestDocument, StatesResultsWithTheirConditions) {
  const auto text = to_text(contest_document(filled_contest(), "contest/"));
  EXPECT_THAT(text, HasSubstr("gpt-small: lehi-kron won with the lowest test loss, 1.3000 ± 0.0248 (3 seeds)"));
  EXPECT_THAT(text, HasSubstr("0.003 (edge)"));
  EXPECT_THAT(text, HasSubstr("weight_decay=0.1"));
  EXPECT_THAT(text, HasSubstr("1.20 (1.10 to 1.30)"));
  EXPECT_THAT(text, HasSubstr("-0.2000 to -0.2000"));
  EXPECT_THAT(text, HasSubstr("better (3 pairs)"));
  EXPECT_THAT(text, HasSubstr(" -                   -  the baseline"));
  EXPECT_THAT(text, HasSubstr("0.003: 1.5000; 0.01: diverged"));
  EXPECT_THAT(text, HasSubstr("Batch sizes: protein"));
  EXPECT_THAT(text, HasSubstr("contest/gpt-small.svg"));
  EXPECT_THAT(text, HasSubstr("contest/protein-batch-sizes.svg"));
  EXPECT_THAT(text, HasSubstr("gpt-large has not been run."));
  EXPECT_THAT(text, HasSubstr("  lehi contest full"));
}

TEST(ContestDocument, LabelsCannotBecomeMarkup) {
  const auto markdown = to_markdown(contest_document(filled_contest(), "./"));
  EXPECT_THAT(markdown, HasSubstr("&lt;b&gt;S&lt;/b&gt; \\| random\\_matrix &amp; \"more\" (control)"));
  EXPECT_THAT(markdown, Not(HasSubstr("<b>")));
  const auto page = contest_page(filled_contest());
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;S&lt;/b&gt; | random_matrix &amp; &quot;more&quot; (control)"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
}

TEST(ContestDocument, AnEmptyContestSaysSo) {
  const auto text = to_text(contest_document(contest_result({}), "./"));
  EXPECT_THAT(text, HasSubstr("The contest is not finished."));
  EXPECT_THAT(text, HasSubstr("No task has a result yet."));
  EXPECT_THAT(text, HasSubstr("(d)   What the controls change matters"));
  EXPECT_THAT(text, Not(HasSubstr(".svg")));
  EXPECT_THAT(contest_figures(contest_result({})), IsEmpty());
}

TEST(ContestDocument, TasksWithoutResultsHaveNoPicture) {
  const auto result = contest_result({contest_task("gpt", {contest_arm("adamw", {}), contest_arm("adam", {NAN})})});
  EXPECT_THAT(contest_figures(result), IsEmpty());
  const auto text = to_text(contest_document(result, "./"));
  EXPECT_THAT(text, Not(HasSubstr(".svg")));
  EXPECT_THAT(text, HasSubstr("gpt: nobody won; diverged: adam with 1 of 1 seed."));
}

TEST(ContestDocument, PicturesInEachFormat) {
  const Document document = {Picture{"contest/a.svg", "50 % [of] a_b"}};
  EXPECT_EQ(to_markdown(document), "![50 % \\[of\\] a\\_b](contest/a.svg)\n");
  EXPECT_EQ(to_text(document), "50 % [of] a_b: contest/a.svg\n");
  EXPECT_THAT(to_latex(document), HasSubstr("50 \\% [of] a\\_b: contest/a.svg\n"));
}

TEST(ContestFigures, OneForEachTaskAndPanel) {
  std::vector<std::string> names;
  for (const auto& [name, figure] : contest_figures(filled_contest())) {
    names.push_back(name);
    if (plot::has_python()) {
      EXPECT_EQ(plot::xml_error(plot::to_svg(figure)), "") << name;
    }
  }
  EXPECT_THAT(names, ElementsAre("gpt-small", "protein-16", "protein-64", "protein-batch-sizes"));
}

// The best is at the top, position 2 of three.
TEST(ContestFigures, ShowMeansIntervalsAndSpeedUp) {
  const auto figures = contest_figures(filled_contest());
  ASSERT_EQ(figures.front().figure.panels.size(), 3);
  const auto& metric = figures.front().figure.panels[0];
  EXPECT_THAT(metric.y.names, ElementsAre("adamw", "<b>S</b> | random_matrix & \"more\"", "lehi-kron"));
  EXPECT_THAT(plot::to_svg(figures.front().figure), HasSubstr(">lehi-kron</text>"));
  ASSERT_EQ(metric.series.size(), 7);  // the baseline's line, then an interval and a mean for each
  EXPECT_NEAR(metric.series[1].x[0], 1.3 - 4.302652730 * 0.01 / std::sqrt(3.0), 1e-9);
  EXPECT_THAT(metric.series[1].y, ElementsAre(2.0, 2.0));
  EXPECT_NEAR(metric.series[2].x[0], 1.3, 1e-12);
  const auto& difference = figures.front().figure.panels[1];
  EXPECT_EQ(difference.x.label, "minus lehi-kron");
  const auto& speed = figures.front().figure.panels[2];
  EXPECT_THAT(speed.series.back().x, ElementsAre(0.5));
  EXPECT_THAT(speed.series.back().y, ElementsAre(2.0));
}

// The losses of soap are higher by 0.11, 0.10 and 0.09; those of adamw by 0.2, which is off the axis of 5 x 0.0248.
TEST(ContestFigures, ShowPairedDifferencesFromTheChallenger) {
  const auto result = contest_result(
      {contest_task("gpt", {contest_arm("adamw", {1.51, 1.49, 1.50}), contest_arm("lehi-kron", {1.31, 1.30, 1.29}),
                            contest_arm("soap", {1.42, 1.40, 1.38})})});
  const auto figures = contest_figures(result);
  const auto& panel = figures.front().figure.panels.at(1);
  const double half = 4.302652730 * 0.01 / std::sqrt(3.0);
  ASSERT_EQ(panel.series.size(), 3);  // zero, then an interval and a mean
  EXPECT_NEAR(panel.series[1].x[0], 0.1 - half, 1e-9);
  EXPECT_NEAR(panel.series[1].x[1], 0.1 + half, 1e-9);
  EXPECT_NEAR(panel.series[2].x[0], 0.1, 1e-12);
  EXPECT_THAT(panel.series[2].y, ElementsAre(1.0));
}

TEST(ContestFigures, FarOffResultsAreNamedInsteadOfDrawn) {
  const auto result = contest_result({contest_task(
      "gpt", {contest_arm("adamw", {1.5, 1.5}), contest_arm("lehi-kron", {1.3, 1.3}), contest_arm("soap", {1.4, 1.4}),
              contest_arm("lion", {1.45, 1.45}), contest_arm("sgd", {30.0, 30.0})})});
  const auto figures = contest_figures(result);
  const auto& panel = figures.front().figure.panels[0];
  EXPECT_EQ(panel.y.names.front(), "sgd (30.0000 ± 0.0000)");
  ASSERT_TRUE(panel.x.high);
  EXPECT_LT(*panel.x.high, 2.0);
}

TEST(ContestPage, IsOneFileWithoutScripts) {
  const auto page = contest_page(filled_contest());
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("<h1>Contest</h1>"));
  for (const auto* outside : {"<script", "<link", "src=", "@import", "href="})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace lehi::report
