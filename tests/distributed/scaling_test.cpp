// `lehi scaling` with two ranks of this machine.
#include "cli/scaling.h"

#include <gmock/gmock.h>

#include "cli/run.h"
#include "support/network.h"

namespace lehi::distributed {
namespace {

TEST(Scaling, MeasuresTheLinkAndCountsTheBytesOfAStep) {
  lehi::testing::leave_the_network();
  const auto result = cli::run_process("\"$LEHI\" scaling --nproc 2 --rounds 1 --parameters 1000 --json");
  ASSERT_EQ(result.code, 0) << result.out;
  const auto json = result.json();
  EXPECT_EQ(json["measured"]["ranks"], 2);
  for (const char* key : {"seconds_4_bytes", "seconds_1_mb", "seconds_25_mb"}) {
    EXPECT_GT(json["measured"][key].get<double>(), 0.0) << key;
  }
  EXPECT_GT(json["latency"].get<double>(), 0.0);
  EXPECT_GT(json["bytes_per_second"].get<double>(), 0.0);
  EXPECT_EQ(json["summed_bytes"]["adamw"].get<double>(), 4000.0);
  EXPECT_EQ(json["summed_bytes"]["lehi"].get<double>(), 8000.0);
}

TEST(Scaling, PrintsATableAndWhereTheFormulaIs) {
  lehi::testing::leave_the_network();
  const auto result = cli::run_process("\"$LEHI\" scaling --nproc 2 --rounds 1");
  ASSERT_EQ(result.code, 0) << result.out;
  for (const char* part : {"Measured with 2 ranks", "Latency of a hop", "bytes a weight", "docs/guides/scaling.md"}) {
    EXPECT_THAT(result.out, ::testing::HasSubstr(part));
  }
}

TEST(Scaling, NeedsSeveralRanks) {
  const auto alone = cli::run({"scaling"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, ::testing::HasSubstr("add --nproc 2"));
  EXPECT_EQ(cli::run({"scaling", "--nproc", "1"}).code, 2);
  EXPECT_EQ(cli::run({"scaling", "--nproc", "2", "--rounds", "0"}).code, 2);
}

}  // namespace
}  // namespace lehi::distributed
