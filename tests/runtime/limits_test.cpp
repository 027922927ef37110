// Limits of cores and memory from files of other machines.
#include "runtime/limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lehi::runtime {
namespace {

TEST(CpuQuota, ReadsVersionTwo) {
  EXPECT_EQ(cpu_quota_v2("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpu_quota_v2("200000 100000\n"), 2.0);
  EXPECT_EQ(cpu_quota_v2("50000 100000"), 0.5);
  EXPECT_EQ(cpu_quota_v2(""), std::nullopt);
  EXPECT_EQ(cpu_quota_v2("100000"), std::nullopt);
  EXPECT_EQ(cpu_quota_v2("12x 100000"), std::nullopt);
  EXPECT_EQ(cpu_quota_v2("100000 0"), std::nullopt);
}

TEST(CpuQuota, ReadsVersionOne) {
  EXPECT_EQ(cpu_quota_v1("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(cpu_quota_v1("150000\n", "100000\n"), 1.5);
  EXPECT_EQ(cpu_quota_v1("", ""), std::nullopt);
}

TEST(MemoryLimit, ReadsUnlimitedInBothVersions) {
  EXPECT_EQ(memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(memory_limit("9223372036854771712\n"), std::nullopt);
  EXPECT_EQ(memory_limit(""), std::nullopt);
  EXPECT_EQ(memory_limit("4294967296\n"), 4294967296);
}

TEST(UsableCores, IsTheSmallerOfMaskAndQuotaAndAtLeastOne) {
  EXPECT_EQ(usable_cores(8, {}), 8);
  EXPECT_EQ(usable_cores(8, 2.0), 2);
  EXPECT_EQ(usable_cores(8, 1.5), 2);
  EXPECT_EQ(usable_cores(8, 0.1), 1);
  EXPECT_EQ(usable_cores(2, 16.0), 2);
  EXPECT_EQ(usable_cores(0, {}), 1);
}

TEST(CgroupDirectories, AreTheGroupAndAllAroundIt) {
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(cgroup_directories("0::/user/job\n", "cpu", "/c"), (Paths{"/c/user/job", "/c/user", "/c"}));
  EXPECT_EQ(cgroup_directories("0::/\n", "cpu", "/c"), (Paths{"/c"}));
  EXPECT_EQ(cgroup_directories("5:cpuset:/a\n4:cpu,cpuacct:/b\n3:memory:/d\n", "cpu", "/c"),
            (Paths{"/c/cpu/b", "/c/cpu"}));
  EXPECT_EQ(cgroup_directories("", "cpu", "/c"), Paths{});
  EXPECT_EQ(cgroup_directories("nonsense\n", "cpu", "/c"), Paths{});
}

// A temporary directory in place of /sys/fs/cgroup.
class CgroupTree : public ::testing::Test {
 protected:
  CgroupTree() : root_(std::filesystem::path(::testing::TempDir()) / ("lehi_cgroup_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~CgroupTree() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::filesystem::path root_;
};

TEST_F(CgroupTree, VersionTwoTakesTheTightestLimitOnTheWayUp) {
  write("pod/cpu.max", "300000 100000\n");
  write("pod/job/cpu.max", "max 100000\n");
  write("pod/memory.max", "max\n");
  write("pod/job/memory.max", "1073741824\n");
  EXPECT_EQ(cgroup_cpu_quota("0::/pod/job\n", root_), 3.0);
  EXPECT_EQ(cgroup_memory_limit("0::/pod/job\n", root_), 1073741824);
  EXPECT_EQ(cgroup_cpu_quota("0::/other\n", root_), std::nullopt);
}

TEST_F(CgroupTree, VersionOneLooksInTheControllersHierarchy) {
  write("cpu/box/cpu.cfs_quota_us", "150000\n");
  write("cpu/box/cpu.cfs_period_us", "100000\n");
  write("memory/memory.limit_in_bytes", "2147483648\n");
  const auto membership = "2:memory:/docker/unmounted\n1:cpu,cpuacct:/box\n";
  EXPECT_EQ(cgroup_cpu_quota(membership, root_), 1.5);
  EXPECT_EQ(cgroup_memory_limit(membership, root_), 2147483648);
}

TEST(BytesOfField, ReadsProcFiles) {
  const auto* const status = "Name:\tlehi\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n";
  EXPECT_EQ(bytes_of_field(status, "VmRSS"), 1 << 20);
  EXPECT_EQ(bytes_of_field(status, "VmHWM"), 2 << 20);
  EXPECT_EQ(bytes_of_field(status, "Vm"), 0);
  EXPECT_EQ(bytes_of_field("", "VmRSS"), 0);
}

TEST(ReadText, OfAMissingFileIsEmpty) { EXPECT_EQ(read_text("/proc/no-such-file"), ""); }

}  // namespace
}  // namespace lehi::runtime
