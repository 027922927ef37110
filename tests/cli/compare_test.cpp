// `lehi compare` and its bad inputs. The runs of whole studies are real processes.
#include "cli/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/run.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Scratch;

/// A table that is quickly learnt: y = 2 a - b.
std::string small_table(const Scratch& scratch) {
  const auto path = scratch / "table.csv";
  std::ofstream stream(path);
  stream << "a,b,y\n";
  for (int i = 0; i < 200; ++i) stream << i % 17 << ',' << i % 5 << ',' << 2 * (i % 17) - i % 5 << '\n';
  return path.string();
}

Result run_real(StudyConfig config, int (*command)(const StudyConfig&, std::ostream&, std::ostream&)) {
  config.program = LEHI_PROGRAM;
  std::ostringstream out;
  std::ostringstream err;
  const int code = command(config, out, err);
  return {code, out.str(), err.str()};
}

TEST(CompareCommand, HasTheDefaultsOfTheDesign) {
  const auto config = parse_compare({"protein"});
  EXPECT_EQ(config.plan.size(), 6U * 3U);
  EXPECT_EQ(config.plan[0].variant, "lehi");
  EXPECT_EQ(config.plan[5].variant, "sophia-g");
  EXPECT_EQ(config.plan[5].config.seed, 0U);
  EXPECT_EQ(config.plan[17].config.seed, 2U);
  EXPECT_THAT(config.directory, ::testing::StartsWith("runs/compare-protein-"));
  EXPECT_GE(config.jobs, 1);
  EXPECT_EQ(config.program, "/proc/self/exe");
}

TEST(CompareCommand, AcceptsTheFlagsOfARun) {
  const auto config =
      parse_compare({"protein", "--preset", "small", "--epochs", "3", "--set", "model.hidden=[7]", "--optimizers",
                     "adam[lr=0.5],lehi-gn[mix=max,refresh_every=5]", "--seeds", "4", "--jobs", "3", "--out", "x"});
  ASSERT_EQ(config.plan.size(), 2U);
  EXPECT_EQ(config.plan[0].config.optimizer.group.lr, 0.5);
  EXPECT_EQ(config.plan[0].config.epochs, 3);
  EXPECT_EQ(config.plan[0].config.model.hidden, std::vector<std::int64_t>{7});
  EXPECT_EQ(config.plan[1].config.optimizer.recipe.schedule.every, 5);
  EXPECT_EQ(config.plan[1].config.seed, 4U);
  EXPECT_EQ(config.jobs, 3);
  EXPECT_EQ(config.directory, "x");
}

TEST(CompareCommand, ReportsBadInputInOneSentenceAndWritesNothing) {
  const Scratch scratch;
  const auto out = (scratch / "out").string();
  const Arguments bad[] = {
      {},
      {"everest"},
      {"protein", "--optimizers", "adamm"},
      {"protein", "--optimizers", ""},
      {"protein", "--optimizers", "adam,,lehi"},
      {"protein", "--optimizers", "adam,adam"},
      {"protein", "--optimizers", "adam[lr=-1]"},
      {"protein", "--optimizers", "adam[colour=red]"},
      {"protein", "--optimizers", "adam[lr"},
      {"protein", "--seeds", ""},
      {"protein", "--seeds", "0,0"},
      {"protein", "--seeds", "-1"},
      {"protein", "--seeds", "0.5"},
      {"protein", "--jobs", "0"},
      {"protein", "--jobs", "-2"},
      {"protein", "--jobs", "many"},
      {"protein", "--epochs", "-1"},
      {"protein", "--set", "train.colour=1"},
      {"protein", "--set", "train.epochs"},
      {"protein", "--preset", "huge"},
      {"protein", "--retry-failed"},
      {"protein", "mnist"},
      {"--resume", "--epochs", "3"},
      {"--resume", "--seeds", "3"},
      {"--resume", "--optimizers", "adam"},
  };
  for (auto arguments : bad) {
    const auto line = fmt::format("{}", fmt::join(arguments, " "));
    arguments.insert(arguments.end(), {"--out", out});
    // parse_compare() first: a study that is accepted would start this test as its program.
    ASSERT_NE(testing::message_of([&] { parse_compare(arguments); }), "") << line;
    arguments.insert(arguments.begin(), "compare");
    const auto result = run(arguments);
    EXPECT_EQ(result.code, usage_error) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << line << ": " << result.err;
    EXPECT_THAT(scratch.names(), IsEmpty()) << line;
  }
  EXPECT_THAT(run({"compare", "--resume"}).err, HasSubstr("--out"));
}

TEST(CompareCommand, ExitsWithThreeForUnusableFiles) {
  const Scratch scratch;
  const Scratch data;
  const auto table = small_table(data);
  const auto answer = [&](const std::string& arguments) {
    // Without the user's choice of a BLAS kernel, which may deserve a warning.
    return run_process(fmt::format("cd '{}' && env -u OPENBLAS_CORETYPE \"$LEHI\" compare {} 2>&1",
                                   scratch.path().string(), arguments));
  };
  const std::string csv = "'csv:" + table + "' ";
  for (const auto& arguments :
       {std::string("protein --out out --data-dir none"), std::string("csv:none.csv --target y --out out"),
        std::string("protein --config none.toml --out out"), std::string("--resume --out out"),
        csv + "--target y --out /proc/nowhere/x", csv + "--target z --out out"}) {
    const auto result = answer(arguments);
    EXPECT_EQ(result.code, bad_input) << arguments;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << arguments << ": " << result.out;
    EXPECT_THAT(scratch.names(), IsEmpty()) << arguments;
  }
  EXPECT_THAT(answer(csv + "--target y --kind poetry --out out").code, ::testing::AnyOf(usage_error, bad_input));
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(CompareCommand, RunsResumesAndShowsOneTable) {
  const Scratch scratch;
  const auto out = (scratch / "study").string();
  const Arguments arguments = {
      "csv:" + small_table(scratch), "--target", "y", "--epochs", "3", "--seeds", "0,1", "--optimizers",
      "lehi,adam,sgd[lr=1e17]",      "--out",    out};
  const auto config = parse_compare(arguments);
  const auto first = run_real(config, run_compare);
  EXPECT_EQ(first.code, done) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("csv-table: test_loss"), HasSubstr("time to adam's"), HasSubstr("lehi "),
                               HasSubstr("diverged 2/2"), HasSubstr("2 diverged"), HasSubstr("runs: " + out)));
  const auto study = nlohmann::json::parse(testing::slurp(scratch / "study/study.json"));
  EXPECT_EQ(study["runs"].size(), 6U);
  EXPECT_EQ(study["runs"][0]["status"], "done");
  EXPECT_TRUE(study["runs"][0]["window_mean"].is_number());
  EXPECT_EQ(study["runs"][2]["status"], "diverged");
  // The numbers are those of the run's own metrics.
  std::istringstream lines(
      testing::slurp(scratch / "study" / study["runs"][0]["directory"].get<std::string>() / "metrics.jsonl"));
  double sum = 0.0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    sum += nlohmann::json::parse(line)["test_loss"].get<double>();
  }
  EXPECT_EQ(count, 3);
  EXPECT_NEAR(study["runs"][0]["window_mean"].get<double>(), sum / count, 1e-12);

  EXPECT_THAT(testing::message_of([&] { run_real(config, run_compare); }), HasSubstr("add --resume"));
  auto resumed = parse_compare({"--resume", "--out", out, "--json"});
  const auto second = run_real(resumed, run_compare);
  EXPECT_EQ(second.code, done);
  EXPECT_EQ(second.err, "") << "nothing was left to run";
  EXPECT_EQ(second.json()["comparison"]["baseline"], "adam");
  EXPECT_EQ(second.json()["runs"], study["runs"]);
}

TEST(CompareCommand, StopsOnASignalAndCanBeResumed) {
  const Scratch scratch;
  const auto table = small_table(scratch);
  const auto out = (scratch / "study").string();
  const auto stopped = run_process(
      fmt::format("cd '{}' && \"$LEHI\" compare 'csv:{}' --target y --epochs 100000 --seeds 0 --optimizers adam,lehi "
                  "--jobs 1 --out study 2> err & child=$!; "
                  "while ! grep -qs running '{}'/*/run.json; do sleep 0.05; done; kill -TERM $child; wait $child",
                  scratch.path().string(), table, out));
  EXPECT_EQ(stopped.code, 143);
  EXPECT_EQ(stopped.out, "");
  EXPECT_THAT(testing::slurp(scratch / "err"), HasSubstr("`lehi compare --resume --out study` resumes the study"));
  const auto study = nlohmann::json::parse(testing::slurp(scratch / "study/study.json"));
  EXPECT_EQ(study["runs"][0]["status"], "interrupted");
  EXPECT_EQ(study["runs"][1]["status"], "waiting");
}

}  // namespace
}  // namespace lehi::cli
