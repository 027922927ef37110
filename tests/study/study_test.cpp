#include "study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/comparison.h"
#include "study/fake.h"
#include "study/paper.h"
#include "study/selection.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::fake_run;
using ::testing::HasSubstr;
using testing::message_of;
using testing::Scratch;

Study two_runs() {
  Study study;
  study.kind = "sweep";
  study.command_line = {"lehi", "sweep", "protein"};
  study.started = "2024-05-06T07:08:09Z";
  study.runs = {fake_run("lehi", 0.1, 0, 0.25, 0.26), fake_run("adam", 0.001, 0, NAN)};
  return study;
}

TEST(StudyFile, ReadsBackWhatItWrote) {
  const Scratch scratch;
  write_study(scratch.path(), two_runs());
  const auto study = read_study(scratch.path());
  EXPECT_EQ(to_json(study), to_json(two_runs()));
  EXPECT_EQ(study.runs[0].score("validation_loss"), 0.261);
  EXPECT_TRUE(std::isnan(study.runs[1].mean("test_loss")));
}

TEST(StudyFile, HasTheFieldsThatOtherProgramsRead) {
  const auto document = nlohmann::json::parse(to_json(two_runs()).dump());
  EXPECT_EQ(document["schema"], 1);
  for (const auto& run : document["runs"]) {
    for (const auto* key : {"task", "preset", "optimizer", "lr", "seed", "status", "window_mean", "window_two_std",
                            "score", "seconds", "steps", "peak_memory_bytes", "directory", "variant"}) {
      EXPECT_TRUE(run.contains(key)) << key;
    }
  }
  EXPECT_EQ(document["runs"][0]["window_mean"], 0.25);
  EXPECT_EQ(document["runs"][0]["window_two_std"], 0.002);
  EXPECT_EQ(document["runs"][0]["score"], 0.252);
  EXPECT_EQ(document["runs"][0]["steps"], 100);
  EXPECT_TRUE(document["runs"][0]["steps"].is_number_integer());
  EXPECT_EQ(document["runs"][1]["status"], "diverged");
  EXPECT_TRUE(document["runs"][1]["score"].is_null());
}

TEST(StudyFile, SaysWhatIsDamaged) {
  const Scratch scratch;
  EXPECT_THAT(message_of([&] { read_study(scratch.path()); }), AllOf(HasSubstr("is no study"), HasSubstr("--out")));
  write_study(scratch.path(), two_runs());
  const auto path = scratch / "study.json";
  const auto whole = testing::slurp(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 3}) {
    testing::spill(path, whole.substr(0, size));
    EXPECT_THAT(message_of([&] { read_study(scratch.path()); }), HasSubstr(path.string())) << size;
  }
  const auto with = [&](const std::string& pointer, const nlohmann::json& value) {
    auto document = nlohmann::json::parse(whole);
    document[nlohmann::json::json_pointer(pointer)] = value;
    testing::spill(path, document.dump());
    return message_of([&] { read_study(scratch.path()); });
  };
  EXPECT_THAT(with("/schema", 2), HasSubstr("'schema' is 2"));
  EXPECT_THAT(with("/runs", nlohmann::json::array()), HasSubstr("'runs'"));
  EXPECT_THAT(with("/runs/0/status", "lost"), AllOf(HasSubstr("run 1"), HasSubstr("lost")));
  EXPECT_THAT(with("/runs/1/directory", "../elsewhere"), AllOf(HasSubstr("run 2"), HasSubstr("elsewhere")));
  EXPECT_THAT(with("/runs/0/lr", "fast"), HasSubstr("'lr'"));
  EXPECT_THAT(with("/command_line", 3), HasSubstr("command_line"));
}

TEST(StudyFile, ARunIsWhatItsDirectorySays) {
  const Scratch scratch;
  StudyRun run = fake_run("lehi", 0.1, 0, 1.0);
  run.window = 2;
  read_run(run, scratch.path());
  EXPECT_EQ(status_text(run), "waiting");
  EXPECT_TRUE(run.windows.empty());

  const auto directory = scratch / run.directory;
  train::make_directories(directory);
  train::write_run_record(directory / "run.json", testing::fake_record(train::RunStatus::done));
  testing::spill(directory / "metrics.jsonl", testing::fake_metrics);
  read_run(run, scratch.path());
  EXPECT_TRUE(run.done());
  EXPECT_NEAR(run.mean("test_loss"), 0.4, 1e-15);
  EXPECT_NEAR(run.windows["test_loss"].two_std, 2 * 0.1 * std::sqrt(2.0), 1e-15);  // of 0.5 and 0.3, n - 1 = 1
  EXPECT_EQ(run.number("seconds"), 1.25);
  EXPECT_EQ(run.largest_gradient, 20.0);
  EXPECT_EQ(run.spike_steps, 2);
  EXPECT_EQ(run.spike_evaluations, 1);
  EXPECT_NEAR(run.eps_dominated, 0.3, 1e-15);

  run.metric = "test_accuracy";
  read_run(run, scratch.path());
  EXPECT_EQ(status_text(run), "failed");
  EXPECT_THAT(run.message, HasSubstr("test_accuracy"));

  testing::spill(directory / "run.json", "{\"schema\": 1");
  read_run(run, scratch.path());
  EXPECT_EQ(status_text(run), "failed");
  EXPECT_THAT(run.message, HasSubstr("run.json"));
}

TEST(StudyFile, FindsHowAnotherPlanDiffers) {
  const Scratch scratch;
  PlanRequest request;
  request.tasks = {"protein"};
  request.optimizers = {"lehi", "adam"};
  request.seeds = {0};
  const auto plan = make_plan(request);
  const auto study = new_study("compare", {"lehi"}, plan);
  for (const auto& run : plan) {
    train::make_directories(scratch / run.directory);
    train::publish_text(scratch / run.directory / "config.toml", train::to_toml(run.config));
  }
  EXPECT_EQ(plan_difference(scratch.path(), study, plan), "");
  EXPECT_EQ(read_plan(scratch.path(), study).size(), 2U);
  EXPECT_EQ(plan_difference(scratch.path(), study, read_plan(scratch.path(), study)), "");
  auto longer = request;
  longer.settings = {{"train.epochs", "7", "--epochs"}};
  EXPECT_THAT(plan_difference(scratch.path(), study, make_plan(longer)), HasSubstr("train.epochs"));
  auto judged = request;
  judged.settings = {{"judge.window", "3", "--set"}};
  EXPECT_THAT(plan_difference(scratch.path(), study, make_plan(judged)), HasSubstr("judged"));
  auto more = request;
  more.seeds = {0, 1};
  EXPECT_EQ(plan_difference(scratch.path(), study, make_plan(more)), "it has 2 runs and this one 4");
  auto other = request;
  other.optimizers = {"lehi", "adamw"};
  EXPECT_THAT(plan_difference(scratch.path(), study, make_plan(other)), HasSubstr("adamw"));
}

TEST(Selection, PicksTheBestMeanScoreWithDivergedSeedsAsWorst) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.30), fake_run("lehi", 0.01, 1, 0.32),
                                      fake_run("lehi", 0.1, 0, 0.20),  fake_run("lehi", 0.1, 1, NAN),
                                      fake_run("lehi", 0.001, 0, 0.4), fake_run("lehi", 0.001, 1, 0.4)};
  const auto groups = group_runs(pointers_to(runs));
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].rates.size(), 3U);
  EXPECT_EQ(groups[0].rates[0].lr, 0.001);
  const auto best = select_rate(groups[0], "test_loss");
  ASSERT_TRUE(best);
  EXPECT_EQ(best->lr, 0.01);
  EXPECT_NEAR(best->score, 0.312, 1e-12);
  EXPECT_FALSE(best->at_edge);
  EXPECT_EQ(edge_warning(groups[0], *best, "test_loss"), "");
}

TEST(Selection, WarnsAtTheEdgeAndWhenEverythingDiverged) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.30), fake_run("lehi", 0.1, 0, 0.20),
                                      fake_run("adam", 0.01, 0, NAN), fake_run("adam", 0.1, 0, NAN)};
  const auto groups = group_runs(pointers_to(runs));
  const auto lehi = select_rate(groups[0], "test_loss");
  EXPECT_TRUE(lehi->at_edge);
  EXPECT_THAT(edge_warning(groups[0], *lehi, "test_loss"), HasSubstr("0.1, the largest rate"));
  const auto adam = select_rate(groups[1], "test_loss");
  EXPECT_THAT(edge_warning(groups[1], *adam, "test_loss"), HasSubstr("diverged at every rate"));
}

TEST(Selection, PrefersRatesThatAllSeedsFinishedAndTheSmallerOfEqualOnes) {
  auto late = fake_run("lehi", 0.1, 1, 0.1);
  late.status = train::RunStatus::interrupted;
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.1),  late,
                                      fake_run("lehi", 0.01, 0, 0.3), fake_run("lehi", 0.01, 1, 0.3),
                                      fake_run("lehi", 0.03, 0, 0.3), fake_run("lehi", 0.03, 1, 0.3)};
  EXPECT_EQ(select_rate(group_runs(pointers_to(runs))[0], "test_loss")->lr, 0.01);
  const std::vector<StudyRun> none = {late};
  EXPECT_FALSE(select_rate(group_runs(pointers_to(none))[0], "test_loss"));
}

TEST(Selection, ChoosesOnValidationWhereItWasHeldOut) {
  const std::vector<StudyRun> held = {fake_run("lehi", 0.1, 0, 0.2, 0.3), fake_run("lehi", 0.1, 1, NAN)};
  EXPECT_EQ(selection_metric(pointers_to(held)), "validation_loss");
  EXPECT_EQ(reported_metric(pointers_to(held)), "test_loss");
  const std::vector<StudyRun> plain = {fake_run("lehi", 0.1, 0, 0.2)};
  EXPECT_EQ(selection_metric(pointers_to(plain)), "test_loss");
  auto judged = held;
  judged[0].metric = judged[1].metric = "validation_loss";  // as ptb is
  EXPECT_EQ(selection_metric(pointers_to(judged)), "validation_loss");
  EXPECT_EQ(reported_metric(pointers_to(judged)), "test_loss");
}

TEST(Comparison, CountsTimesAndSteps) {
  const Scratch scratch;
  Study study;
  study.kind = "compare";
  study.runs = {fake_run("lehi", 0.1, 0, 0.5), fake_run("lehi", 0.1, 1, NAN), fake_run("adam", 0.001, 0, 0.45),
                fake_run("adam", 0.001, 1, 0.35)};
  study.runs[0].result["step_seconds_min"] = 0.03;
  study.runs[1].result["step_seconds_min"] = 0.04;
  for (const auto& run : study.runs) {
    train::make_directories(scratch / run.directory);
    testing::spill(scratch / run.directory / "metrics.jsonl", testing::fake_metrics);
  }
  const auto comparison = compare_runs(study, scratch.path());
  EXPECT_EQ(comparison.baseline, "adam");
  ASSERT_EQ(comparison.rows.size(), 2U);
  const auto& lehi = comparison.rows[0];
  EXPECT_EQ(status_text(lehi), "1 done, 1 diverged");
  EXPECT_TRUE(std::isnan(lehi.final.mean)) << "a diverged seed counts as worst";
  EXPECT_EQ(lehi.reached, 2U);
  // Adam ended with 0.45 and 0.35; the fake metrics fall to 0.3 at 0.4 s, and are 0.5 before.
  EXPECT_NEAR(lehi.seconds_to_baseline, 0.4, 1e-12);
  EXPECT_NEAR(lehi.relative_step, 2.0, 1e-12);
  EXPECT_EQ(lehi.backward_passes, 200.0);
  const auto& adam = comparison.rows[1];
  EXPECT_NEAR(adam.final.mean, 0.4, 1e-12);
  EXPECT_NEAR(adam.final.std, 0.1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(adam.relative_step, 1.0);
  EXPECT_EQ(status_text(adam), "2 done");
}

TEST(Comparison, TimeToReachIsThatOfTheFirstLineAsGood) {
  std::vector<nlohmann::json> lines;
  for (const auto* text : {R"({"seconds":1,"a_accuracy":50})", R"({"seconds":2,"a_accuracy":null})",
                           R"({"seconds":3,"a_accuracy":70})", R"({"seconds":4,"a_accuracy":60})"}) {
    lines.push_back(nlohmann::json::parse(text));
  }
  EXPECT_EQ(seconds_to_reach(lines, "a_accuracy", 55.0), 3.0);
  EXPECT_EQ(seconds_to_reach(lines, "a_accuracy", 50.0), 1.0);
  EXPECT_FALSE(seconds_to_reach(lines, "a_accuracy", 71.0));
  EXPECT_FALSE(seconds_to_reach(lines, "other", 0.0));
}

TEST(PaperTables, HaveThePublishedCells) {
  const auto* cell = paper_cell("protein", "lehi", 0.1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->mean, 0.2426);
  EXPECT_EQ(cell->two_std, 0.0089);
  EXPECT_EQ(paper_cell("mnist", "sophia-g", 0.1), nullptr);
  EXPECT_EQ(paper_cell("fashion-mnist", "lehi", 0.1), nullptr);
  EXPECT_EQ(paper_cell("protein", "lehi", 0.2), nullptr);
  for (const auto* task : {"protein", "mnist"}) {
    std::size_t cells = 0;
    for (const auto& [optimizer, row] : paper_tables().at(task).search) cells += row.size();
    EXPECT_EQ(cells, 28U) << task;
  }
  EXPECT_EQ(paper_tables().at("mnist").metric, "test_accuracy");
}

TEST(PaperTables, TolerancesAreThoseOfTheTask) {
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 0.1, .mean = 0.2426, .two_std = 0.0089}), 0.0178, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 1e-4, .mean = 0.35, .two_std = 0.0009}), 0.00875, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-4, .mean = 91.0, .two_std = 0.1}), 0.5, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-1, .mean = 91.0, .two_std = 0.9}), 1.8, 1e-12);
}

}  // namespace
}  // namespace lehi::study
