#include "cli/contest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run.h"
#include "contest/contest_json.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Scratch;

/// A contest of two optimizers on a small table.
std::string table_contest(const Scratch& scratch) {
  std::string table = "a,b,y\n";
  for (int i = 0; i < 400; ++i) table += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
  testing::spill(scratch / "t.csv", table);
  return fmt::format(R"(baseline = "adamw"
challenger = "lehi-kron"
rivals = ["adamw"]
classics = ["adamw"]
tuning_seeds = [0]
seeds = [1, 2]
speed_rounds = 1
speed_up_seeds = 1
validation = 0.1
settings.data.target = "y"
settings.checkpoint.keep = 0

[[arm]]
name = "adamw"
rates = [1e-3, 1e-2]
knob = {{ key = "weight_decay", values = [0.1] }}

[[arm]]
name = "lehi-kron"
rates = [1e-2]

[[task]]
name = "table"
task = "csv:{}"
preset = "paper"
steps = 20
)",
                     (scratch / "t.csv").string());
}

TEST(ContestCommand, ReadsItsArguments) {
  const auto config = parse_contest(
      {"full", "--tasks", "gpt-small,mnist-small", "--arms", "adamw,lion", "--jobs", "3", "--out", "x", "--json"});
  EXPECT_EQ(config.request.file, "full");
  EXPECT_THAT(config.request.tasks, ElementsAre("gpt-small", "mnist-small"));
  EXPECT_THAT(config.request.arms, ElementsAre("adamw", "lion"));
  EXPECT_EQ(config.request.runner.jobs, 3);
  EXPECT_TRUE(config.json);
  EXPECT_EQ(parse_contest({"--out", "x"}).request.file, "small");
  EXPECT_EQ(parse_contest({"--out", "x", "--resume"}).request.file, "") << "the directory's";
}

TEST(ContestCommand, ReportsBadInputInOneSentence) {
  const Scratch scratch;
  const auto out = (scratch / "out").string();
  const std::vector<Arguments> bad = {{},
                                      {"--out", out, "--jobs", "0"},
                                      {"--out", out, "--markdown", "a.md"},
                                      {"--show", out, "--resume"},
                                      {"small", "--show", out},
                                      {"smal", "--out", out},
                                      {"--out", out, "--tasks", "everest"},
                                      {"--out", out, "--arms", "lion"}};
  for (auto arguments : bad) {
    arguments.insert(arguments.begin(), "contest");
    const auto result = run(arguments);
    EXPECT_EQ(result.code, usage_error) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(run({"contest", "--show", out}).code, bad_input);
}

TEST(ContestCommand, RunsAContestAndShowsIt) {
  const Scratch scratch;
  testing::spill(scratch / "c.toml", table_contest(scratch));
  const auto out = (scratch / "out").string();
  auto config = parse_contest({(scratch / "c.toml").string(), "--out", out, "--jobs", "1"});
  config.request.runner.program = LEHI_PROGRAM;
  std::ostringstream text;
  std::ostringstream messages;
  ASSERT_EQ(run_contest(config, text, messages), done) << messages.str();
  EXPECT_THAT(text.str(), AllOf(HasSubstr("adamw"), HasSubstr("lehi-kron"), HasSubstr("report.html")));
  EXPECT_THAT(messages.str(), HasSubstr("table, verdict"));
  const auto result = contest::read_result(out);
  EXPECT_TRUE(result.missing.empty());
  ASSERT_EQ(result.tasks.at(0).arms.size(), 2U);
  for (const auto& arm : result.tasks[0].arms) {
    ASSERT_EQ(arm.values.size(), 2U);
    EXPECT_TRUE(std::isfinite(arm.values[0].value));
    EXPECT_GT(arm.time.seconds, 0.0);
  }
  for (const auto* file : {"contest.toml", "report.md", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(scratch / "out" / file)) << file;
  }
  const auto page = (scratch / "page.md").string();
  const auto shown = run({"contest", "--show", out, "--markdown", page, "--json"});
  EXPECT_EQ(shown.code, done);
  EXPECT_EQ(nlohmann::json::parse(shown.out), nlohmann::json::parse(testing::slurp(scratch / "out/contest.json")));
  EXPECT_THAT(testing::slurp(page), HasSubstr("lehi-kron"));
}

}  // namespace
}  // namespace lehi::cli
