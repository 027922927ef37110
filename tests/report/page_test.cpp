// The data of the page, from runs whose files are written by hand, some of them damaged. web/test tests the page in a
// browser.
#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "study/study_file.h"
#include "train/scratch.h"

namespace lehi::report {
namespace {

using ::testing::ElementsAre;
using testing::fake_metrics;
using testing::fake_run;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;
using testing::spill;

const ReportRequest request{.title = "A <title>", .command_line = {"lehi", "report", "runs/a"}};

Studies one_study(const Scratch& scratch, std::vector<study::StudyRun> runs) {
  study::Study study;
  study.kind = "sweep";
  study.command_line = {"lehi", "sweep", "protein"};
  study.runs = std::move(runs);
  return {.read = {{scratch.path(), study}}, .problems = {}};
}

void write_metrics(const Scratch& scratch, const study::StudyRun& run, const std::string& text) {
  make_directories(scratch / run.directory);
  spill(scratch / run.directory / "metrics.jsonl", text);
}

TEST(ReportPage, HoldsCurvesRatesAndPicks) {
  const Scratch scratch;
  const auto studies = one_study(
      scratch, {fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27), fake_run("adam", 0.001, 0, NAN)});
  write_metrics(scratch, studies.read[0].study.runs[0], fake_metrics);
  const auto data = page_data(studies, request);
  EXPECT_EQ(data["schema"], 1);
  EXPECT_EQ(data["live"], false);
  EXPECT_THAT(data["commands"].get<std::vector<std::string>>(),
              ElementsAre("lehi sweep protein", "lehi report runs/a"));
  ASSERT_EQ(data["sections"].size(), 1U);
  const auto& section = data["sections"][0];
  EXPECT_EQ(section["metric"], "test_loss");
  EXPECT_EQ(section["larger_is_better"], false);
  EXPECT_EQ(section["baseline"], "adam");
  const auto& lehi = section["optimizers"][0];
  EXPECT_EQ(lehi["name"], "lehi");
  EXPECT_EQ(lehi["picked"], 1);  // rates ascend
  EXPECT_EQ(lehi["rates"][1]["lr"], 0.1);
  EXPECT_EQ(lehi["rates"][1]["mean"], 0.25);
  EXPECT_EQ(lehi["rates"][1]["two_std"], 0.002);
  EXPECT_EQ(lehi["rates"][1]["score"], 0.252);
  EXPECT_EQ(lehi["rates"][1]["stability"], "STABLE");
  EXPECT_EQ(lehi["rates"][1]["runs"], nlohmann::ordered_json({0}));
  const auto& adam = section["optimizers"][1]["rates"][0];
  EXPECT_TRUE(adam["score"].is_null());
  EXPECT_EQ(adam["stability"], "FAILED");
  EXPECT_EQ(adam["diverged"], 1);
  const auto& run = section["runs"][0];
  EXPECT_EQ(run["series"]["step"], nlohmann::ordered_json({1, 2, 4}));
  EXPECT_EQ(run["series"]["test_loss"], nlohmann::ordered_json({0.9, 0.5, 0.3}));
  EXPECT_EQ(run["forward_per_step"], 1.0);
  EXPECT_EQ(run["backward_per_step"], 2.0);
  EXPECT_EQ(section["runs"][2]["series"], nlohmann::ordered_json::object());
}

TEST(ReportPage, StringsCannotEndTheScriptOrBecomeMarkup) {
  const Scratch scratch;
  auto hostile = fake_run("</script><script>alert(1)</script>", 0.1, 0, 0.25);
  hostile.task = "csv:<img onerror=alert(2)>.csv";
  hostile.message = "<!-- \xff";  // invalid UTF-8
  const auto html = page_html(page_data(one_study(scratch, {hostile}), request));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<img onerror")));
  EXPECT_THAT(html, HasSubstr("\\u003cscript>alert(1)"));
  EXPECT_THAT(html, Not(HasSubstr("LEHI_REPORT_DATA")));
  const auto begin = html.find("id=\"data\">") + 10;
  const auto parsed = nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_EQ(parsed["title"], "A <title>");
  EXPECT_EQ(parsed["sections"][0]["runs"][0]["optimizer"], "</script><script>alert(1)</script>");
  EXPECT_EQ(parsed["sections"][0]["runs"][0]["message"], "<!-- \xef\xbf\xbd");
}

TEST(ReportPage, DamagedRunsAreListedWithTheirProblem) {
  const Scratch scratch;
  auto outside = fake_run("lehi", 0.3, 0, 0.25);
  outside.directory = "../../etc";
  const auto studies = one_study(scratch, {fake_run("lehi", 0.1, 0, 0.25), fake_run("lehi", 0.03, 0, 0.27), outside});
  write_metrics(scratch, studies.read[0].study.runs[0], "{\"step\": 1}\nnonsense\n{\"step\": 3}\n");
  write_metrics(
      scratch, studies.read[0].study.runs[1],
      "{\"step\": 1, \"test_loss\": \"<b>\", \"train_loss\": null}\n{\"step\": 2, \"test_loss\": 0.5}\n{\"st");
  const auto runs = page_data(studies, request)["sections"][0]["runs"];
  EXPECT_THAT(runs[0]["message"].get<std::string>(), HasSubstr("metrics.jsonl, line 2"));
  EXPECT_EQ(runs[0]["series"], nlohmann::ordered_json::object());
  EXPECT_EQ(runs[1]["series"]["test_loss"], nlohmann::ordered_json({nullptr, 0.5}));
  EXPECT_EQ(runs[1]["series"]["step"], nlohmann::ordered_json({1, 2}));
  EXPECT_THAT(runs[2]["message"].get<std::string>(), HasSubstr("../../etc"));
}

TEST(ReportPage, LongRunsAreThinnedAndKeepTheirLastEvaluation) {
  const Scratch scratch;
  std::string lines;
  for (int step = 1; step <= 2500; ++step) lines += "{\"step\": " + std::to_string(step) + "}\n";
  const auto studies = one_study(scratch, {fake_run("lehi", 0.1, 0, 0.25)});
  write_metrics(scratch, studies.read[0].study.runs[0], lines);
  const auto steps = page_data(studies, request)["sections"][0]["runs"][0]["series"]["step"];
  EXPECT_EQ(steps.size(), 834U);
  EXPECT_EQ(steps.back(), 2500);
}

TEST(ReportPage, TwoHundredRunsOfThreeHundredEvaluationsStayBelowEightMegabytes) {
  const Scratch scratch;
  std::vector<study::StudyRun> runs;
  for (std::uint64_t seed = 0; seed < 200; ++seed) runs.push_back(fake_run("lehi", 0.1, seed, 0.25));
  const auto studies = one_study(scratch, std::move(runs));
  for (const auto& run : studies.read[0].study.runs) {
    std::string lines;
    for (int i = 1; i <= 300; ++i) {
      const double x = 1.0 / (3.0 + i + static_cast<double>(run.seed));
      lines += nlohmann::json{{"step", 469 * i},
                              {"epoch", i},
                              {"seconds", 0.123456789 * i},
                              {"train_loss", x},
                              {"test_loss", 2 * x},
                              {"test_accuracy", 100 * (1 - x)},
                              {"grad_inf_norm", x / 3},
                              {"eps_dominated", x / 7},
                              {"lr", 0.1}}
                   .dump() +
               "\n";
    }
    write_metrics(scratch, run, lines);
  }
  const auto data = page_data(studies, request);
  EXPECT_EQ(data["sections"][0]["runs"][199]["series"]["test_loss"].size(), 300U) << "no evaluation is left out";
  EXPECT_LT(page_html(data).size(), 8'000'000U);
}

TEST(ReportPage, AStudyWithOnlyWaitingRunsHasAPage) {
  const Scratch scratch;
  auto run = fake_run("lehi", 0.1, 0, NAN);
  run.status.reset();
  run.windows.clear();
  const auto data = page_data(one_study(scratch, {run}), request, /*live=*/true);
  EXPECT_EQ(data["live"], true);
  const auto& section = data["sections"][0];
  EXPECT_EQ(section["baseline"], "");
  EXPECT_TRUE(section["optimizers"][0]["picked"].is_null());
  EXPECT_EQ(section["summary"][0]["text"], "No run has finished yet.");
  EXPECT_EQ(section["runs"][0]["status"], "waiting");
}

TEST(ReportStudies, OneUnreadableDirectoryDoesNotHideTheOthers) {
  const Scratch scratch;
  const Scratch damaged;
  study::write_study(scratch.path(), one_study(scratch, {fake_run("lehi", 0.1, 0, 0.25)}).read[0].study);
  spill(damaged / "study.json", "{\"schema\": 1");
  const auto studies = read_studies({damaged.path().string(), scratch.path().string()});
  ASSERT_EQ(studies.read.size(), 1U);
  ASSERT_EQ(studies.problems.size(), 1U);
  EXPECT_THAT(studies.problems[0], HasSubstr("study.json"));
  EXPECT_THAT(to_markdown(study_report(studies, request)), HasSubstr("study.json"));
  EXPECT_THROW(read_studies({damaged.path().string()}), FileError);
}

}  // namespace
}  // namespace lehi::report
