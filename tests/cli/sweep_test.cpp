#include "cli/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;

TEST(SweepCommand, TakesThePapersGridByDefault) {
  const auto config = parse_sweep({"protein", "mnist", "--out", "x"});
  EXPECT_EQ(config.plan.size(), 2U * 4U * 7U);
  EXPECT_EQ(config.plan[0].config.optimizer.group.lr, 1e-4);
  EXPECT_EQ(config.plan[0].config.seed, 0U);
  EXPECT_EQ(config.plan.back().config.task, "mnist");
  EXPECT_EQ(parse_sweep({"protein", "--lrs", "1e-3,2e-3", "--optimizers", "adam", "--seeds", "0,1"}).plan.size(), 4U);
}

TEST(SweepCommand, AnswersBadInputWithOneSentenceAndWritesNothing) {
  const Scratch scratch;
  const auto out = (scratch / "out").string();
  const Arguments bad[] = {{},
                           {"everest"},
                           {"protein", "--lrs", "-1e-3"},
                           {"protein", "--lrs", "0"},
                           {"protein", "--lrs", "1e-3,fast"},
                           {"protein", "--lrs", ","},
                           {"protein", "--lrs", "1e-3,1e-3"},
                           {"protein", "protein"},
                           {"protein", "--optimizers", "magic"},
                           {"protein", "--seeds", "1,1"},
                           {"protein", "--jobs", "0"}};
  for (auto arguments : bad) {
    const auto line = fmt::format("{}", fmt::join(arguments, " "));
    arguments.insert(arguments.end(), {"--out", out});
    ASSERT_NE(testing::message_of([&] { parse_sweep(arguments); }), "") << line;  // as in compare_test.cpp
    arguments.insert(arguments.begin(), "sweep");
    const auto result = run(arguments);
    EXPECT_EQ(result.code, usage_error) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << line << ": " << result.err;
    EXPECT_THAT(scratch.names(), IsEmpty()) << line;
  }
}

// kill -9 of the whole study, several times; the study goes on and ends with the metrics of one that never stopped.
TEST(SweepCommand, SurvivesBeingKilled) {
  const Scratch scratch;
  std::string table = "a,b,y\n";
  for (int i = 0; i < 500; ++i) table += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
  testing::spill(scratch / "t.csv", table);
  const std::string sweep =
      "\"$LEHI\" sweep csv:t.csv --target y --steps 10000 --optimizers lehi,adam --lrs 1e-3,1e-2 "
      "--set train.evaluate_every=500 --set checkpoint.every=1000 ";
  const auto result =
      run_process(fmt::format("cd '{}' || exit 9; {} --out straight > table1 2> err1 || exit 8; "
                              "for pause in 0.9 1.3 1.8; do {} --resume --out killed > /dev/null 2>&1 & child=$!; "
                              "sleep $pause; kill -KILL $child 2> /dev/null; wait $child 2> /dev/null; done; "
                              "{} --resume --out killed > table2 2> err2",
                              scratch.path().string(), sweep, sweep, sweep));
  ASSERT_EQ(result.code, done);
  EXPECT_THAT(testing::slurp(scratch / "table1"), HasSubstr("best rate"));
  const auto study_of = [&](const std::string& name) {
    auto study = nlohmann::json::parse(testing::slurp(scratch / name / "study.json"));
    for (auto& entry : study["runs"]) {
      for (const auto* key : {"seconds", "peak_memory_bytes", "result"}) entry.erase(key);  // times and memory
    }
    return study["runs"];
  };
  EXPECT_EQ(study_of("straight"), study_of("killed"));
}

}  // namespace
}  // namespace lehi::cli
