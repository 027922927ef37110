#include "report/study_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/document.h"
#include "study/fake.h"
#include "train/scratch.h"

namespace lehi::report {
namespace {

using testing::fake_run;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;

study::Study study_of(std::vector<study::StudyRun> runs) {
  study::Study study;
  study.kind = "sweep";
  study.command_line = {"lehi", "sweep", "protein", "--out", "runs/a"};
  study.started = "2024-05-06T07:08:09Z";
  study.runs = std::move(runs);
  return study;
}

void write_config(const std::filesystem::path& directory, const study::StudyRun& run,
                  const std::vector<train::Setting>& settings = {}) {
  auto config = train::resolve(
      {.task = run.task, .preset = run.preset, .optimizer = run.optimizer, .file = {}, .settings = settings});
  config.optimizer.group.lr = run.lr;
  config.seed = config.optimizer.seed = run.seed;
  config.threads = 1;
  make_directories(directory / run.directory);
  publish_text(directory / run.directory / "config.toml", train::to_toml(config));
}

std::string markdown_of(const Scratch& scratch, const study::Study& study) {
  return to_markdown(study_report({.read = {{scratch.path(), study}}, .problems = {}},
                                  {.title = "Measured", .command_line = {"lehi", "report", "runs/a"}}));
}

TEST(StudyReport, ComparesWithThePapersValues) {
  const Scratch scratch;
  // The paper has 0.2426 ± 0.0089 at 0.1 (tolerance 0.0178) and 0.2535 ± 0.0070 at 0.03 (0.0140).
  const auto study = study_of({fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27),
                               fake_run("lehi", 0.2, 0, NAN), fake_run("lehi[eps=1]", 0.1, 0, 0.24)});
  for (const auto& run : study.runs) write_config(scratch.path(), run);
  const auto text = markdown_of(scratch, study);
  EXPECT_THAT(text, HasSubstr("```sh\nlehi sweep protein --out runs/a\nlehi report runs/a\n```"));
  EXPECT_THAT(text, HasSubstr("1 of 2 results are within"));
  EXPECT_THAT(text, HasSubstr("0.2500 ± 0.0020 | 0.2426 ± 0.0089 |    +0.0074 |  0.0178 | yes"));
  EXPECT_THAT(text, HasSubstr("0.2700 ± 0.0020 | 0.2535 ± 0.0070 |    +0.0165 |  0.0140 | no"));
  EXPECT_THAT(text, HasSubstr("diverged"));
  EXPECT_THAT(text, Not(HasSubstr("over seeds")));
}

TEST(StudyReport, DoesNotCompareShorterRunsWithThePaper) {
  const Scratch scratch;
  const auto study = study_of({fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27)});
  for (const auto& run : study.runs) write_config(scratch.path(), run, {{"train.epochs", "5", "--epochs"}});
  const auto text = markdown_of(scratch, study);
  EXPECT_THAT(text, Not(HasSubstr("results are within")));
  EXPECT_THAT(text, HasSubstr("train.epochs is 200 there and 5 here"));
}

// The small preset is a preset of its own, but its model is not the paper's.
TEST(StudyReport, DoesNotCompareTheSmallPresetWithThePaper) {
  const Scratch scratch;
  auto runs = std::vector{fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27)};
  for (auto& run : runs) {
    run.preset = "small";
    write_config(scratch.path(), run);
  }
  const auto text = markdown_of(scratch, study_of(runs));
  EXPECT_THAT(text, Not(HasSubstr("results are within")));
  EXPECT_THAT(text, HasSubstr("train.epochs is 200 there and 20 here"));
}

TEST(StudyReport, ShowsThePapersStabilityTable) {
  const Scratch scratch;
  std::vector<study::StudyRun> runs;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    for (const double lr : {1e-2, 1e-1}) {
      runs.push_back(fake_run("adam", lr, seed, 3.0, 3.0));
      runs.back().task = "ptb";
      runs.back().preset = "small";
    }
  }
  for (const auto& run : runs) write_config(scratch.path(), run);
  const auto text = markdown_of(scratch, study_of(runs));
  EXPECT_THAT(text, HasSubstr("The paper's table (its model, its training length, three seeds):"));
  EXPECT_THAT(text, HasSubstr("NOISY 4.4e+32 (19.3)"));  // Adam at 3e-3
  EXPECT_THAT(text, HasSubstr("FAILED 2/3"));
}

TEST(StudyReport, PicksRatesOnValidationAndComparesTestOverSeeds) {
  const Scratch scratch;
  std::vector<study::StudyRun> runs;
  const double adam[] = {.2421, .2450, .2510};
  const double ours[] = {.2357, .2410, .2463};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    runs.push_back(fake_run("adam", 1e-3, seed, adam[seed], 0.25));
    runs.push_back(fake_run("adam", 3e-3, seed, 0.1, 0.26));  // better on the test rows, but the validation rows decide
    runs.push_back(fake_run("adam", 3e-4, seed, 0.3, 0.31));
    runs.push_back(fake_run("lehi-gn", 3e-3, seed, ours[seed], 0.24));
    runs.push_back(fake_run("lehi-gn", 1e-2, seed, seed == 1 ? NAN : 0.2, 0.2));
    runs.push_back(fake_run("lehi-gn", 1e-3, seed, 0.3, 0.3));
    runs.push_back(fake_run("sgd[momentum=0.9]", 1e-2, seed, ours[seed] + 1e-4 * static_cast<double>(seed), 0.24));
  }
  const auto text = markdown_of(scratch, study_of(runs));
  EXPECT_THAT(text, HasSubstr("The metric is measured on rows held out from training."));
  EXPECT_THAT(text, HasSubstr("0.2410 \\*"));  // validation 0.24 + 0.001
  EXPECT_THAT(text, HasSubstr("diverged 1/3"));
  // The interval of tests/study/statistics_test.cpp.
  EXPECT_THAT(text, HasSubstr("-0.0081 to -0.0020"));
  EXPECT_THAT(text, HasSubstr("better than adam with 3 seeds"));
  EXPECT_THAT(text, HasSubstr("1 of 9 (0.01: 1)"));
  EXPECT_THAT(text, HasSubstr("0.2460 ± 0.0045"));
  EXPECT_THAT(text,
              HasSubstr("Not clearly better than sgd\\[momentum=0.9\\], so curvature shows no benefit here: lehi-gn."));
  EXPECT_THAT(text, Not(HasSubstr("learning rates"))) << "runs with held-out rows are not compared with the paper";
}

TEST(StudyReport, MergesStudiesAndListsFailedRuns) {
  const Scratch scratch;
  auto first = study_of({fake_run("adam", 1e-3, 0, 0.3, 0.3), fake_run("adam", 1e-3, 1, 0.3, 0.3)});
  auto second = study_of(
      {fake_run("lehi", 1e-3, 0, 0.2, 0.2), fake_run("lehi", 1e-3, 1, 0.2, 0.2), fake_run("adam", 1e-3, 0, 0.9, 0.9)});
  second.runs[1].status = train::RunStatus::failed;
  second.runs[1].message = "<b>fire</b>";
  const auto text =
      to_markdown(study_report({.read = {{scratch.path(), first}, {scratch.path(), second}}, .problems = {}},
                               {.title = "Both", .command_line = {"lehi", "report"}}));
  EXPECT_THAT(text, HasSubstr("is in more than one study"));
  EXPECT_THAT(text, HasSubstr("failed: &lt;b&gt;fire"));
  EXPECT_THAT(text, HasSubstr("1 seed says nothing about the spread"));
}

TEST(StudyReport, ScoreTablesWarnAtTheEdge) {
  std::vector<std::string> warnings;
  const auto text = to_text(score_tables(
      study_of({fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27), fake_run("adam", 0.1, 0, NAN)}),
      warnings));
  EXPECT_THAT(text, HasSubstr("0.2520 *"));
  EXPECT_THAT(text, HasSubstr("diverged 1/1"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("largest rate"));
}

}  // namespace
}  // namespace lehi::report
