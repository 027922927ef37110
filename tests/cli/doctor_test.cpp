#include "cli/doctor.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <filesystem>

#include "cli/run.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;

TEST(Doctor, ReportsAndMeasuresTheMachine) {
  const int threads = at::get_num_threads();
  const auto document = run({"doctor", "--json"}).json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_GE(document["cores"], 1);
  EXPECT_EQ(document["torch_threads"], threads);
  EXPECT_TRUE(document["warnings"].is_array());
  const auto directory = std::filesystem::path(document["torch_directory"].get<std::string>());
  EXPECT_TRUE(std::filesystem::exists(directory / "libtorch_cpu.so"));
  EXPECT_EQ(document["torch_version"], TORCH_VERSION);
  EXPECT_EQ(document["blas"] == "mkl", document["mkl"] != "");
  for (const auto& speed : {document["sgemm_gflops"]["one_thread"], document["sgemm_gflops"]["all_threads"],
                            document["memory_gb_per_second"]["copy"], document["memory_gb_per_second"]["triad"]}) {
    EXPECT_GT(speed.get<double>(), 0);
  }
  EXPECT_EQ(at::get_num_threads(), threads);  // as before the measurement on one thread
}

TEST(Doctor, PrintsTextAndNoProgressWithoutATerminal) {
  const auto result = run({"doctor"});
  EXPECT_EQ(result.code, done);
  EXPECT_EQ(result.err, "");
  for (const auto* const word :
       {"cpu", "cores", "memory", "libtorch", TORCH_VERSION, "blas", "onednn", "GFLOP/s", "GB/s", "warning"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
}

TEST(Doctor, ParsesItsFlag) {
  EXPECT_FALSE(parse_doctor({}).json);
  EXPECT_TRUE(parse_doctor({"--json"}).json);
}

}  // namespace
}  // namespace lehi::cli
