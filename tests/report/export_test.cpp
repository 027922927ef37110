// The CSV and SVG exports.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plot/svg.h"
#include "report/csv.h"
#include "report/figures.h"
#include "study/fake.h"
#include "train/scratch.h"

namespace lehi::report {
namespace {

using testing::fake_run;
using ::testing::HasSubstr;
using testing::Scratch;
using ::testing::StartsWith;

Studies studies_in(const std::filesystem::path& directory, std::vector<study::StudyRun> runs) {
  study::Study study;
  study.command_line = {"lehi", "sweep"};
  study.runs = std::move(runs);
  return {.read = {{directory, study}}, .problems = {}};
}

TEST(ReportCsv, HasARowForEveryRun) {
  auto lost = fake_run("=lehi[eps=1,beta1=0]", 0.1, 7, NAN);
  lost.directory = "lost";
  lost.message = "said \"no\"";
  auto done = fake_run("lehi", 0.1, 0, 0.25);
  done.directory = "done";
  const auto text = runs_csv(studies_in("runs/a", {done, lost}));
  EXPECT_THAT(text, StartsWith("study,run,task,preset,optimizer,variant,lr,seed,status,metric,window_mean,"
                               "window_two_std,score,seconds,steps,"));
  EXPECT_THAT(text, HasSubstr("\r\nruns/a,done,protein,paper,lehi,lehi,0.1,0,done,test_loss,0.25,0.002,0.252,2,100,"));
  // Escaped: neither a formula nor two cells.
  EXPECT_THAT(text, HasSubstr("\r\nruns/a,lost,protein,paper,'=lehi,\"'=lehi[eps=1,beta1=0]\",0.1,7,diverged,"
                              "test_loss,,,,"));
  EXPECT_THAT(text, HasSubstr("\"said \"\"no\"\"\"\r\n"));
}

TEST(ReportFigures, ShowSmoothedMeansOverSeedsAndThePapersValues) {
  const Scratch scratch;
  std::vector<study::StudyRun> runs;
  for (const double lr : {0.03, 0.1}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) runs.push_back(fake_run("lehi", lr, seed, lr == 0.1 ? 0.2 : 0.3));
  }
  runs.push_back(fake_run("adam", 0.1, 0, NAN));
  for (std::size_t i = 2; i < 4; ++i) {
    make_directories(scratch / runs[i].directory);
    std::string lines;
    for (int epoch = 1; epoch <= 3; ++epoch) {
      lines += fmt::format(R"({{"step":{0},"epoch":{0},"train_loss":{1},"test_loss":{2}}})", epoch, 3.0 / epoch,
                           i == 2 ? 1.0 : 3.0) +
               "\n";
    }
    testing::spill(scratch / runs[i].directory / "metrics.jsonl", lines);
  }
  const auto figures = figures_of(studies_in(scratch.path(), runs));
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].name, "protein-paper-curves");
  ASSERT_EQ(figures[0].figure.panels.size(), 2U);
  const auto& test = figures[0].figure.panels[1];
  ASSERT_EQ(test.series.size(), 3U);  // two faded seeds, then their mean
  EXPECT_EQ(test.series[2].name, "LEHI");
  EXPECT_THAT(test.series[2].x, ::testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(test.series[2].y, ::testing::ElementsAre(2, 2, 2));
  EXPECT_EQ(figures[1].name, "protein-paper-rates");
  const auto& rates = figures[1].figure.panels[0];
  EXPECT_THAT(rates.series[0].x, ::testing::ElementsAre(0.03, 0.1));
  EXPECT_THAT(rates.series[0].y, ::testing::ElementsAre(0.3, 0.2));
  EXPECT_THAT(rates.bands[0].low,
              ::testing::ElementsAre(::testing::DoubleNear(0.298, 1e-9), ::testing::DoubleNear(0.198, 1e-9)));
  EXPECT_THAT(rates.series[1].y, ::testing::ElementsAre(0.2535, 0.2426)) << "the paper's values";
  for (const auto& figure : figures) EXPECT_THAT(plot::to_svg(figure.figure), StartsWith("<svg xmlns="));
}

}  // namespace
}  // namespace lehi::report
