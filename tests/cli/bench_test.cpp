#include "cli/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/run.h"

namespace lehi::cli {
namespace {

using bench::at_least;
using bench::at_most;
using ::testing::HasSubstr;

Result printed(const BenchConfig& config, const std::vector<bench::Measurement>& measurements,
               const std::vector<bench::Unmeasured>& unmeasured = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = print_measurements(config, measurements, unmeasured, out, err);
  return {code, out.str(), err.str()};
}

TEST(Bench, ParsesItsFlags) {
  const auto plain = parse_bench({});
  EXPECT_TRUE(plain.settings.topics.empty());
  EXPECT_EQ(plain.settings.python, "/usr/bin/python3");
  EXPECT_FALSE(plain.check || plain.json || plain.settings.correctness);
  const auto config = parse_bench({"--only", "update,growth", "--rounds", "3", "--json", "--check", "--report", "a.svg",
                                   "--growth-large", "--python", "python3"});
  EXPECT_EQ(config.settings.topics, (std::vector<std::string>{"update", "growth"}));
  EXPECT_EQ(config.settings.rounds, 3);
  EXPECT_TRUE(config.check && config.json && config.settings.growth_large);
  EXPECT_EQ(config.report, "a.svg");
  EXPECT_EQ(config.settings.python, "python3");
}

TEST(Bench, RejectsUnknownTopicsAndFlagsThatDoNotFit) {
  const auto message = [](const Arguments& arguments) {
    Arguments all = {"bench"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto result = run(all);
    EXPECT_EQ(result.code, usage_error);
    return result.err;
  };
  EXPECT_THAT(message({"--only", "updat"}), HasSubstr("there is no topic 'updat' (did you mean 'update'?)"));
  EXPECT_THAT(message({"--only", "update,"}), HasSubstr("there is no topic ''"));
  EXPECT_THAT(message({"--rounds", "0"}), HasSubstr("--rounds"));
  EXPECT_THAT(message({"--only", "update", "--report", "a.svg"}), HasSubstr("needs the topic growth"));
  EXPECT_THAT(message({"--correctness", "--report", "a.svg"}), HasSubstr("needs the topic growth, and timing"));
  EXPECT_THAT(message({"--only", "loss", "--growth-large"}), HasSubstr("--growth-large needs the topic growth"));
}

TEST(Bench, TableShowsBoundsGroupedByTopic) {
  const auto result = printed({}, {{"update/adamw", 1.1, "x stream", at_most(1.25)},
                                   {"update/lehi", 1.5, "x stream", at_most(1.25)},
                                   {"update/adamw-seconds", 0.1, "s"},
                                   {"loss/torch", 19.24, "x ours", at_least(5), "loss/imitation differs"}});
  EXPECT_EQ(result.out,
            "name                  value  unit      bound\n"
            "update/adamw          1.1    x stream  <= 1.25  ok\n"
            "update/lehi           1.5    x stream  <= 1.25  missed\n"
            "update/adamw-seconds  0.1    s\n"
            "\n"
            "loss/torch            19.2   x ours    >= 5     wrong\n");
  EXPECT_EQ(result.err, "lehi: 2 of 4 measurements not ok: update/lehi, loss/torch\n");
  EXPECT_EQ(result.code, done);  // without --check
}

TEST(Bench, CheckFailsForAMissedBound) {
  const BenchConfig config{.check = true};
  EXPECT_EQ(printed(config, {{"a/b", 1.0, "x", at_most(2)}}).code, done);
  EXPECT_EQ(printed(config, {{"a/b", 3.0, "x", at_most(2)}}).code, 1);
  EXPECT_EQ(printed(config, {{"a/b", 1.0, "x", at_most(2), "wrong"}}).code, 1);
}

TEST(Bench, CheckFailsForABoundThatWasNotMeasured) {
  const BenchConfig config{.check = true};
  const std::vector<bench::Measurement> measurements = {{"a/b", 1.0, "x", at_most(2)}};
  const auto result = printed(config, measurements,
                              {{"torch/mnist-tuned", "there is no torch"}, {"torch/gpt2-tuned", "there is no torch"}});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "lehi: not measured: torch/mnist-tuned, torch/gpt2-tuned: there is no torch\n"
            "lehi: --check fails, because a measurement with a bound is missing\n");
  EXPECT_EQ(printed(config, measurements, {{"memory/lehi-peak", "why", false}}).code, done);
}

TEST(Bench, CorrectnessPrintsItsComparisons) {
  const auto result = run({"bench", "--correctness", "--only", "loss", "--json", "--check"});
  EXPECT_EQ(result.code, done);
  EXPECT_EQ(result.err, "");
  const auto list = result.json();
  ASSERT_EQ(list.size(), 2U);
  for (const auto& entry : list) {
    EXPECT_EQ(entry.size(), 5U);
    EXPECT_TRUE(entry["ok"].get<bool>());
    EXPECT_EQ(entry["unit"], "relative difference");
    EXPECT_LE(entry["value"].get<double>(), entry["bound"].get<double>());
  }
}

TEST(Bench, HelpNamesTopicsAndExamples) {
  const auto result = run({"bench", "--help"});
  EXPECT_EQ(result.code, done);
  for (const auto* const word : {"--correctness", "--check", "update", "growth", "Examples:"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
  EXPECT_EQ(result.out.find("--memory-of"), std::string::npos);
}

}  // namespace
}  // namespace lehi::cli
