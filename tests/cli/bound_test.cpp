#include "cli/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Arguments counterexample = {"bound",
                                  "--lr",
                                  "0.01",
                                  "--beta1",
                                  "0",
                                  "--beta2",
                                  "0.9999",
                                  "--eps",
                                  "1e-12",
                                  "--dimension",
                                  "1",
                                  "--gradient-bound",
                                  "1.0000000000005",
                                  "--lipschitz",
                                  "1",
                                  "--initial-gap",
                                  "0.41421356237309505",
                                  "--steps",
                                  "1000000"};

Arguments with(Arguments arguments, const std::string& flag) {
  arguments.push_back(flag);
  return arguments;
}

TEST(BoundCommand, PrintsTermsValueAndVacuity) {
  const auto document = run(with(counterexample, "--json")).json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_NEAR(document["value"], 0.177983113080289, 1e-10);  // derived in tests/theory/bound_test.cpp
  EXPECT_NEAR(
      document["gap_term"].get<double>() + document["log_term"].get<double>() + document["drift_term"].get<double>(),
      document["value"].get<double>(), 1e-15);
  EXPECT_EQ(document["vacuous"], false);
  EXPECT_EQ(document["constants"]["steps"], 1000000);
  EXPECT_THAT(run(counterexample).out, HasSubstr("0.17798311"));
  EXPECT_THAT(run(counterexample).out, HasSubstr("Not vacuous"));
}

TEST(BoundCommand, ReportsAVacuousBound) {
  const auto result = run({"bound", "--steps", "1000"});
  EXPECT_EQ(result.code, done);
  EXPECT_THAT(result.out, HasSubstr("Vacuous: "));
  EXPECT_THAT(result.out, Not(HasSubstr("Not vacuous")));
}

TEST(BoundCommand, AlwaysPrintsTheCaveat) {
  EXPECT_THAT(run({"bound"}).out, HasSubstr(bound_caveat()));
  EXPECT_EQ(run({"bound", "--json"}).json()["caveat"], bound_caveat());
  EXPECT_THAT(bound_caveat(), HasSubstr("proven for s = g only"));
}

TEST(BoundCommand, ParsesEveryConstant) {
  const auto constants =
      parse_bound({"--lr", "1", "--beta1", "2", "--beta2", "3", "--eps", "4", "--dimension", "5", "--gradient-bound",
                   "6", "--lipschitz", "7", "--initial-gap", "8", "--steps", "9"})
          .constants;
  EXPECT_EQ(constants.lr, 1);
  EXPECT_EQ(constants.beta1, 2);
  EXPECT_EQ(constants.beta2, 3);
  EXPECT_EQ(constants.eps, 4);
  EXPECT_EQ(constants.dimension, 5);
  EXPECT_EQ(constants.gradient_bound, 6);
  EXPECT_EQ(constants.lipschitz, 7);
  EXPECT_EQ(constants.initial_gap, 8);
  EXPECT_EQ(constants.steps, 9);
}

TEST(BoundCommand, NamesTheConstantOutOfRange) {
  EXPECT_EQ(run({"bound", "--eps", "0"}).err, "lehi: convergence bound: eps must be above 0, not 0\n");
}

}  // namespace
}  // namespace lehi::cli
