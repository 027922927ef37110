#include "cli/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "cli/run.h"
#include "lehi/torch_compat.h"

namespace lehi::cli {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;
using ::testing::StartsWith;
using Numbers = std::vector<double>;

// Formulas of the documentation in Python's mpmath, 40 digits.
TEST(Loss, CrossEntropyDocumentHasValueGradientProbeAndSecondDerivatives) {
  const auto result = run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "2", "--json"});
  ASSERT_EQ(result.code, done) << result.err;
  const auto document = result.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["loss"], "cross-entropy");
  EXPECT_EQ(document["probe_name"], "imitation");
  EXPECT_NEAR(document["value"], 0.4076059644443803, 1e-15);
  const auto near = ::testing::DoubleNear(1e-15);
  EXPECT_THAT(document["gradient"].get<Numbers>(),
              Pointwise(near, Numbers{0.090030573170380458, 0.24472847105479765, -0.33475904422517811}));
  EXPECT_THAT(document["probe"].get<Numbers>(),
              Pointwise(near, Numbers{0.10806199539812919, 0.0079571376457795387, -0.11601913304390873}));
  EXPECT_THAT(document["second_derivatives"].get<Numbers>(),
              Pointwise(near, Numbers{0.081925069064993228, 0.18483644650997872, 0.22269542653462336}));
}

// Bit for bit: probabilities 0 and 1 multiply and add without rounding.
TEST(Loss, ProbabilitiesAreTargetsToo) {
  const auto index = run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "2", "--json"}).json();
  const auto row = run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "0,0,1", "--json"}).json();
  EXPECT_EQ(index["value"], row["value"]);
  EXPECT_EQ(index["gradient"], row["gradient"]);
}

TEST(Loss, PassesTheNumbersToTheLoss) {
  // Huber with delta 2 at an error of 5: 2 (5 - 1), slope 2, no curvature.
  const auto huber = run({"loss", "huber", "--predictions", "5", "--target", "0", "--delta", "2", "--json"}).json();
  EXPECT_EQ(huber["value"], 8);
  EXPECT_EQ(huber["gradient"], Numbers{2});
  EXPECT_EQ(huber["second_derivatives"], Numbers{0});
  // Focal with gamma 0 and alpha 1/2 is half the binary cross-entropy.
  const auto focal =
      run({"loss", "focal", "--predictions", "0.3", "--target", "1", "--gamma", "0", "--alpha", "0.5", "--json"})
          .json();
  const auto bce = run({"loss", "bce", "--predictions", "0.3", "--target", "1", "--json"}).json();
  EXPECT_THAT(focal["value"].get<double>(), DoubleEq(bce["value"].get<double>() / 2));
  // Label smoothing 0.3 of class 2 among three is the target 0.1, 0.1, 0.8.
  const auto smooth =
      run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "2", "--label-smoothing", "0.3", "--json"})
          .json();
  const auto plain = run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "0.1,0.1,0.8", "--json"});
  EXPECT_THAT(smooth["value"].get<double>(), DoubleNear(plain.json()["value"].get<double>(), 1e-14));
}

TEST(Loss, GradientProbeIsTheGradient) {
  const auto document =
      run({"loss", "log-cosh", "--predictions=-1,2", "--target", "0,0", "--probe", "gradient", "--json"}).json();
  EXPECT_EQ(document["probe"], document["gradient"]);
  // Within four units in the last place: the compiler rounds these two correctly, the C library nearly so.
  EXPECT_THAT(document["gradient"].get<Numbers>(), Pointwise(DoubleEq(), Numbers{std::tanh(-1.0), std::tanh(2.0)}));
}

TEST(Loss, RandomProbesDependOnTheSeed) {
  const auto probe = [](const std::string& seed) {
    return run({"loss", "mse", "--predictions", "1,2,3,4,5,6,7,8,9,10,11,12", "--target", "0,0,0,0,0,0,0,0,0,0,0,0",
                "--probe", "gauss-newton", "--seed", seed, "--json"})
        .json()["probe"]
        .get<Numbers>();
  };
  for (const double sign : probe("7")) EXPECT_EQ(std::abs(sign), 1);
  EXPECT_EQ(probe("7"), probe("7"));
  EXPECT_NE(probe("7"), probe("8"));  // for these seeds some of the twelve signs differ
}

TEST(Loss, Float32IsComputedInFloat32) {
  const auto wide = run({"loss", "bce", "--predictions", "0.1", "--target", "1", "--json"}).json();
  const auto narrow =
      run({"loss", "bce", "--predictions", "0.1", "--target", "1", "--dtype", "float32", "--json"}).json();
  const double u = narrow["gradient"][0];
  EXPECT_EQ(u, static_cast<double>(static_cast<float>(u)));
  EXPECT_NE(u, wide["gradient"][0].get<double>());
  EXPECT_NEAR(u, wide["gradient"][0].get<double>(), 1e-6);
}

TEST(Loss, JsonKeepsEveryDigit) {
  const auto text = run({"loss", "mse", "--predictions", "0.1", "--target", "0.4", "--json"}).json();
  EXPECT_EQ(text["gradient"][0].get<double>(), 0.1 - 0.4);
}

TEST(Loss, AnIgnoredRowHasANullValue) {
  const auto result = run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "-100", "--json"});
  EXPECT_EQ(result.code, done);
  EXPECT_TRUE(result.json()["value"].is_null());
}

TEST(Loss, TextIsATableWithOneRowPerOutput) {
  const auto result = run({"loss", "mse", "--predictions", "1,2.5", "--target", "0,0"});
  EXPECT_EQ(result.code, done);
  EXPECT_EQ(result.out,
            "mse = 3.625\n"
            "\n"
            "output  prediction  u = dl/dp  v (imitation)  v^2  d2l/dp^2\n"
            "     0           1          1              1    1         1\n"
            "     1         2.5        2.5              1    1         1\n");
}

TEST(Loss, WarnsThatTheImitationProbeOfTwoClassesIsZero) {
  const compat::torch_warnings::WarnAlways every_time;
  const auto result = run({"loss", "cross-entropy", "--predictions", "1,2", "--target", "1"});
  EXPECT_EQ(result.code, done);
  EXPECT_THAT(result.err,
              StartsWith("lehi: warning: cross-entropy: with two classes the imitation probe is exactly 0"));
  EXPECT_THAT(result.out, Not(HasSubstr("-0 ")));
}

TEST(Loss, ParsesItsFlags) {
  const auto config = parse_loss(
      {"bce", "--predictions", "1,-2", "--target", "0,1", "--probe", "diagonal", "--seed", "3", "--dtype", "float32"});
  EXPECT_EQ(config.loss, "bce");
  EXPECT_THAT(config.predictions, ElementsAre(1, -2));
  EXPECT_THAT(config.target, ElementsAre(0, 1));
  EXPECT_EQ(config.probe, Probe::diagonal);
  EXPECT_EQ(config.seed, 3U);
  EXPECT_TRUE(config.single_precision);
  EXPECT_FALSE(config.json);
}

TEST(Loss, ReportsTheErrorInOneSentence) {
  EXPECT_THAT(run({"loss", "mae", "--predictions", "1", "--target", "1"}).err,
              HasSubstr("unknown loss 'mae': expected one of mse, bce, cross-entropy"));
  EXPECT_THAT(run({"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "1.5"}).err,
              HasSubstr("--target: 1.5 is not a class index"));
}

}  // namespace
}  // namespace lehi::cli
