// What is said about the loaded LibTorch, compared with the files that this process has mapped.
#include "runtime/libraries.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "lehi/runtime.h"
#include "runtime/limits.h"

namespace lehi::runtime {
namespace {

using ::testing::SizeIs;

// The files in /proc/self/maps whose names start with `prefix`.
std::set<std::string> mapped_files(const std::string& prefix) {
  std::set<std::string> files;
  std::istringstream maps(read_text("/proc/self/maps"));
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::filesystem::path file(line.substr(slash));
    if (file.filename().string().starts_with(prefix)) files.insert(file.string());
  }
  return files;
}

TEST(Libraries, AreThoseThatTheProcessHasMapped) {
  const auto libraries = loaded_libraries();
  const auto torch = mapped_files("libtorch_cpu.so");
  ASSERT_THAT(torch, SizeIs(1));
  EXPECT_EQ(std::filesystem::path(*torch.begin()).parent_path(), libraries.directory);
  EXPECT_THAT(mapped_files("libc10.so"), SizeIs(1));
  EXPECT_FALSE(libraries.instruction_set.empty());
}

// Two OpenMP runtimes would have two pools of threads, which wait for each other's cores.
TEST(Libraries, ShareOneOpenMp) {
  std::set<std::string> all = mapped_files("libgomp");
  all.merge(mapped_files("libomp"));
  all.merge(mapped_files("libiomp"));
  EXPECT_THAT(all, SizeIs(1));
}

TEST(Libraries, BlasIsOneOfTheProcess) {
  const auto host = describe_host();
  const auto libraries = loaded_libraries();
  const bool contains_mkl = at::get_parallel_info().find("Intel(R) oneAPI Math Kernel Library") != std::string::npos;
  EXPECT_EQ(libraries.mkl.empty(), !contains_mkl);
  EXPECT_EQ(host.blas == "mkl", contains_mkl);
  if (host.blas == "mkl") {
    EXPECT_THAT(mapped_files("libopenblas"), SizeIs(0));
    EXPECT_EQ(host.blas_kernel, "");
    EXPECT_EQ(better_blas_kernel(host), "");
  }
  const int before = at::get_num_threads();
  for (const int threads : {1, 2}) {
    set_threads(threads);
    const int blas = loaded_libraries().blas_threads;
    EXPECT_TRUE(blas == threads || blas == 0) << blas << " instead of " << threads;
  }
  set_threads(before);
}

TEST(Libraries, VersionsAndValuesAreReadFromLibTorchsTexts) {
  EXPECT_EQ(version_in("Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa7)"), "3.12.0");
  EXPECT_EQ(version_in("Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605"), "2024.2");
  EXPECT_EQ(version_in("MKLDNN not found"), "");
  EXPECT_EQ(version_in("64 bits, build 7."), "");
  EXPECT_EQ(version_in(""), "");
  EXPECT_EQ(config_value("a\n  - CPU capability usage: AVX2\n - b", "CPU capability usage"), "AVX2");
  EXPECT_EQ(config_value("ATen parallel backend: native thread pool", "ATen parallel backend"), "native thread pool");
  EXPECT_EQ(config_value("CPU: x", "GPU"), "");
}

}  // namespace
}  // namespace lehi::runtime
