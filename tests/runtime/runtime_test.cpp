// The description of this machine.
#include "lehi/runtime.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace lehi::runtime {
namespace {

TEST(DescribeHost, StaysWithinWhatTheSystemReports) {
  const auto host = describe_host();
  EXPECT_GE(host.cores, 1);
  EXPECT_LE(host.cores, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(host.memory_bytes, 0);
  EXPECT_LE(host.memory_bytes, sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  EXPECT_FALSE(host.torch_version.empty());
  EXPECT_EQ(host.torch_threads, at::get_num_threads());
}

TEST(Memory, ResidentBytesFollowWhatTheProcessTouches) {
  constexpr std::size_t size = 64 << 20;
  const auto before = resident_bytes();
  EXPECT_GT(before, 0);
  const std::vector<char> touched(size, 1);
  EXPECT_GE(resident_bytes() - before, static_cast<std::int64_t>(size) * 9 / 10);
  EXPECT_GE(peak_resident_bytes(), resident_bytes());
  EXPECT_EQ(touched.back(), 1);
}

TEST(Memory, PeakIsWhatGetrusageSays) {
  rusage usage = {};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  // Both count pages per thread and are updated lazily: tolerance one megabyte.
  EXPECT_NEAR(static_cast<double>(peak_resident_bytes()), 1024.0 * static_cast<double>(usage.ru_maxrss), 1 << 20);
}

}  // namespace
}  // namespace lehi::runtime
