// `lehi eval` gives the numbers of the run that wrote the weights, in every file format.
#include "cli/eval.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "cli/run.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;

TEST(Eval, GivesTheRunsNumbersForEveryFormat) {
  const lehi::testing::Scratch scratch;
  const auto at = [&](const std::string& name) { return (scratch / name).string(); };
  ::setenv("XDG_CACHE_HOME", at("cache").c_str(), 1);
  std::string text;
  for (int i = 0; i < 400; ++i) text += i % 3 == 0 ? "abra " : "cadabra ";
  lehi::testing::spill(at("t.txt"), text);
  const std::string task = "text:" + at("t.txt");
  const Arguments model = {"--preset", "small", "--set", "text.block=16", "--set", "text.test_tokens=200"};
  Arguments train = {
      "train", task,    "--optimizer",    "adamw", "--steps",       "6",     "--out",          at("run"), "--progress",
      "none",  "--set", "model.width=16", "--set", "model.heads=8", "--set", "model.layers=1", "--json"};
  train.insert(train.end(), model.begin(), model.end());
  const auto trained = run(train);
  ASSERT_EQ(trained.code, done) << trained.err;
  const double expected = trained.json()["result"]["test_loss"];

  const std::string checkpoint = at("run/checkpoints/step-000000006");
  ASSERT_EQ(run({"convert", checkpoint, at("a/model.safetensors")}).code, done);
  ASSERT_EQ(run({"convert", checkpoint, at("shards/"), "--shard-size", "8KB"}).code, done);
  ASSERT_EQ(run({"convert", at("shards/"), at("b.bin")}).code, done);
  for (const auto& weights : {checkpoint, at("a"), at("shards"), at("b.bin")}) {
    Arguments eval = {"eval", task, "--weights", weights, "--json"};
    eval.insert(eval.end(), model.begin(), model.end());
    const auto result = run(eval);
    ASSERT_EQ(result.code, done) << weights << ": " << result.err;
    EXPECT_EQ(result.json()["test"]["loss"], expected) << weights;
    EXPECT_EQ(result.json()["parameters"], 16 * 256 + 64 * 16 + 12 * 16 * 16 + 13 * 16 + 2 * 16);
  }
  Arguments eval = {"eval", task, "--weights", checkpoint};
  eval.insert(eval.end(), model.begin(), model.end());
  EXPECT_THAT(run(eval).out, HasSubstr("perplexity"));
  eval[3] = at("nowhere.safetensors");
  EXPECT_EQ(run(eval).code, bad_input);
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace lehi::cli
