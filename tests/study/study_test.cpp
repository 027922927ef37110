#include "study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "study/fake.h"
#include "study/stored_plan.h"
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

TEST(StudyFile, IsReadAsItWasWritten) {
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

TEST(StudyFile, NamesWhatIsDamaged) {
  const Scratch scratch;
  EXPECT_THAT(message_of([&] { read_study(scratch.path()); }), AllOf(HasSubstr("is not a study"), HasSubstr("--out")));
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
  EXPECT_THAT(with("/command_line", 3), HasSubstr("command_line"));
  EXPECT_THAT(with("/second_phase", 3), HasSubstr("second_phase"));
  EXPECT_THAT(with("/second_phase", {{{"task", "protein"}, {"best", 1}, {"seeds", {"x"}}}}), HasSubstr("seeds"));
}

TEST(StudyFile, ADamagedEntryIsAFailedRunWithTheReasonAsItsMessage) {
  const Scratch scratch;
  write_study(scratch.path(), two_runs());
  const auto path = scratch / "study.json";
  const auto whole = testing::slurp(path);
  const std::tuple<const char*, nlohmann::json, const char*> cases[] = {
      {"/runs/0/status", "lost", "lost"},
      {"/runs/0/lr", "fast", "'lr'"},
      {"/runs/0", 3, "not a JSON object"},
      {"/runs/0/windows/test_loss", 3, "test_loss"},
      {"/runs/0/windows/test_loss/values", "all", "'values'"},
      {"/runs/0/phase", "late", "'phase'"},
      {"/runs/0/directory", "../elsewhere", "../elsewhere"},
      {"/runs/0/directory", "/etc", "/etc"},
      {"/runs/0/directory", "..", "expected a plain directory name"},
      {"/runs/0/directory", "", "expected a plain directory name"},
      {"/runs/0/directory", "<script>alert(1)</script>", "script"},
      {"/runs/0/directory", "a\nb", "expected a plain directory name"},
      {"/runs/0/directory", std::string(300, 'a'), "expected a plain directory name"},
  };
  for (const auto& [pointer, value, expected] : cases) {
    auto document = nlohmann::json::parse(whole);
    document[nlohmann::json::json_pointer(pointer)] = value;
    testing::spill(path, document.dump());
    const auto study = read_study(scratch.path());
    ASSERT_EQ(study.runs.size(), 2U) << pointer;
    EXPECT_TRUE(study.runs[0].damaged) << pointer;
    EXPECT_EQ(status_text(study.runs[0]), "failed") << pointer;
    EXPECT_THAT(study.runs[0].message, AllOf(HasSubstr("run 1"), HasSubstr(expected))) << pointer;
    EXPECT_TRUE(std::isnan(study.runs[0].mean("test_loss"))) << pointer;
    EXPECT_TRUE(study.runs[0].directory.empty() || base::is_safe_name(study.runs[0].directory)) << pointer;
    EXPECT_FALSE(study.runs[1].damaged) << pointer;
  }
  auto twice = nlohmann::json::parse(whole);
  twice["runs"][1]["directory"] = twice["runs"][0]["directory"];
  testing::spill(path, twice.dump());
  EXPECT_THAT(read_study(scratch.path()).runs[1].message, HasSubstr("another run has too"));
}

TEST(StudyFile, OfAnEarlierVersionHasOnePhaseAndNoEvaluations) {
  const Scratch scratch;
  write_study(scratch.path(), two_runs());
  auto document = nlohmann::json::parse(testing::slurp(scratch / "study.json"));
  document.erase("protocol");
  document.erase("second_phase");
  for (auto& run : document["runs"]) {
    run.erase("phase");
    for (auto& window : run["windows"]) window.erase("values");
  }
  testing::spill(scratch / "study.json", document.dump());
  EXPECT_EQ(to_json(read_study(scratch.path())), to_json(two_runs()));
}

TEST(RunDirectory, DeterminesStatusAndResults) {
  const Scratch scratch;
  StudyRun run = fake_run("lehi", 0.1, 0, 1.0);
  run.window = 2;
  read_run(run, scratch.path());
  EXPECT_EQ(status_text(run), "waiting");
  EXPECT_TRUE(run.windows.empty());

  const auto directory = scratch / run.directory;
  make_directories(directory);
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

TEST(RunDirectory, ARunWithDamagedFilesHasFailed) {
  const Scratch scratch;
  const StudyRun before = fake_run("lehi", 0.1, 0, 1.0);
  const auto directory = scratch / before.directory;
  make_directories(directory);
  const auto read = [&] {
    StudyRun run = before;
    read_run(run, scratch.path());
    return run;
  };
  const auto whole = [&] {
    train::write_run_record(directory / "run.json", testing::fake_record(train::RunStatus::done));
    testing::spill(directory / "metrics.jsonl", testing::fake_metrics);
  };
  whole();
  ASSERT_TRUE(read().done());
  EXPECT_EQ(read().windows.at("test_loss").values, (std::vector<double>{0.9, 0.5, 0.3}));
  testing::expect_no_changed_byte_crashes(directory / "run.json", [&] { read(); });
  testing::expect_no_changed_byte_crashes(directory / "metrics.jsonl", [&] { read(); });

  std::filesystem::remove(directory / "metrics.jsonl");
  EXPECT_THAT(read().message, HasSubstr("metrics.jsonl"));
  std::filesystem::create_directory(directory / "metrics.jsonl");
  EXPECT_EQ(status_text(read()), "failed");
  std::filesystem::remove(directory / "metrics.jsonl");
  for (const auto* text :
       {"", "[]\n", "{\"step\":1}\n", "\xff\xfe\n", "{\"step\":1,\"spikes\":1e300,\"test_loss\":\"x\"}\n"}) {
    testing::spill(directory / "metrics.jsonl", text);
    EXPECT_EQ(status_text(read()), "failed") << text;
  }
  whole();
  auto record = nlohmann::json::parse(testing::slurp(directory / "run.json"));
  record["schema"] = 99;
  testing::spill(directory / "run.json", record.dump());
  EXPECT_THAT(read().message, HasSubstr("'schema' is 99"));
}

TEST(RunDirectory, IsNotReadThroughALink) {
  const Scratch scratch;
  const Scratch elsewhere;
  StudyRun run = fake_run("lehi", 0.1, 0, 1.0);
  train::write_run_record(elsewhere / "run.json", testing::fake_record(train::RunStatus::done));
  testing::spill(elsewhere / "metrics.jsonl", testing::fake_metrics);
  std::filesystem::create_directory_symlink(elsewhere.path(), scratch / run.directory);
  read_run(run, scratch.path());
  EXPECT_EQ(status_text(run), "failed");
  EXPECT_THAT(run.message, HasSubstr("symbolic link"));
  std::filesystem::remove(scratch / run.directory);
  make_directories(scratch / run.directory);
  std::filesystem::create_symlink(elsewhere / "run.json", scratch / run.directory / "run.json");
  read_run(run, scratch.path());
  EXPECT_THAT(run.message, HasSubstr("symbolic link"));
  for (const auto* name : {"../x", "/etc", "", ".", "a/b", "-rf"}) {
    run.directory = name;
    read_run(run, scratch.path());
    EXPECT_EQ(status_text(run), "failed") << name;
    EXPECT_THAT(message_of([&] { run_file(run, scratch.path(), "run.json"); }),
                HasSubstr("not a plain directory name"));
  }
}

// Spikes after the last evaluation are only in the totals.
TEST(RunDirectory, CountsTheSpikesAfterTheLastEvaluation) {
  const Scratch scratch;
  StudyRun run = fake_run("lehi", 0.1, 0, 1.0);
  make_directories(scratch / run.directory);
  auto record = testing::fake_record(train::RunStatus::diverged);
  record.result["spikes"] = 7;
  record.result["grad_inf_norm"] = 1e5;
  train::write_run_record(scratch / run.directory / "run.json", record);
  testing::spill(scratch / run.directory / "metrics.jsonl", testing::fake_metrics);  // two spikes in one evaluation
  read_run(run, scratch.path());
  EXPECT_TRUE(run.diverged());
  EXPECT_EQ(run.spike_steps, 7);
  EXPECT_EQ(run.spike_evaluations, 2);
  EXPECT_EQ(run.largest_gradient, 1e5);
}

TEST(StoredPlan, DescribesHowAnotherPlanDiffers) {
  const Scratch scratch;
  PlanRequest request;
  request.tasks = {"protein"};
  request.optimizers = {"lehi", "adam"};
  request.seeds = {0};
  const auto plan = testing::make_plan(request);
  const auto study = new_study("compare", {"lehi"}, plan);
  for (const auto& run : plan) {
    make_directories(scratch / run.directory);
    publish_text(scratch / run.directory / "config.toml", train::to_toml(run.config));
  }
  EXPECT_EQ(plan_difference(scratch.path(), study, plan), "");
  EXPECT_EQ(read_plan(scratch.path(), study).size(), 2U);
  EXPECT_EQ(plan_difference(scratch.path(), study, read_plan(scratch.path(), study)), "");
  auto longer = request;
  longer.settings = {{"train.epochs", "7", "--epochs"}};
  EXPECT_THAT(plan_difference(scratch.path(), study, testing::make_plan(longer)), HasSubstr("train.epochs"));
  auto judged = request;
  judged.settings = {{"judge.window", "3", "--set"}};
  EXPECT_THAT(plan_difference(scratch.path(), study, testing::make_plan(judged)), HasSubstr("judged"));
  auto more = request;
  more.seeds = {0, 1};
  EXPECT_EQ(plan_difference(scratch.path(), study, testing::make_plan(more)), "it has 2 runs and this one 4");
  auto other = request;
  other.optimizers = {"lehi", "adamw"};
  EXPECT_THAT(plan_difference(scratch.path(), study, testing::make_plan(other)), HasSubstr("adamw"));
}

}  // namespace
}  // namespace lehi::study
