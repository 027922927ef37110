// Which kernel OpenBLAS should run, for many machines.
#include "runtime/blas.h"

#include <gtest/gtest.h>

#include <string>

namespace lehi::runtime {
namespace {

Host host_with(const std::string& vendor, const std::string& vector_units, const std::string& kernel,
               const std::string& blas = "openblas") {
  Host host;
  host.vendor = vendor;
  host.vector_units = vector_units;
  host.blas = blas;
  host.blas_kernel = kernel;
  return host;
}

TEST(BetterBlasKernel, IsProposedOnlyForClearlyUnfitKernels) {
  struct Case {
    std::string vendor, vector_units, kernel, better;
  };
  const Case cases[] = {
      {"intel", "avx512", "Prescott", "SkylakeX"},
      {"intel", "avx512", "Core2", "SkylakeX"},
      {"intel", "avx512", "Sandybridge", "SkylakeX"},
      {"intel", "avx512", "Generic", "SkylakeX"},
      {"intel", "avx512", "Haswell", ""},  // slower than SkylakeX, but not unsuitable
      {"intel", "avx512", "SkylakeX", ""},
      {"intel", "avx512", "Cooperlake", ""},
      {"intel", "avx2", "Prescott", "Haswell"},
      {"intel", "avx2", "Nehalem", "Haswell"},
      {"intel", "avx2", "Penryn", "Haswell"},
      {"intel", "avx2", "Dunnington", "Haswell"},
      {"intel", "avx2", "Katmai", "Haswell"},
      {"intel", "avx2", "Haswell", ""},
      {"intel", "avx2", "Zen", ""},
      {"intel", "baseline", "Prescott", ""},  // there is no better one
      {"amd", "avx2", "Prescott", "Zen"},
      {"amd", "avx512", "Barcelona", "Zen"},
      {"amd", "avx2", "Athlon", "Zen"},
      {"amd", "avx2", "Opteron_SSE3", "Zen"},
      {"amd", "avx2", "Bulldozer", "Zen"},
      {"amd", "avx2", "Zen", ""},
      {"amd", "avx2", "Haswell", ""},
      {"amd", "avx512", "SkylakeX", ""},
      {"other", "avx512", "Prescott", "Haswell"},
      {"intel", "avx512", "GraniteRapids", ""},  // newer than the table
      {"intel", "avx512", "", ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(better_blas_kernel(host_with(c.vendor, c.vector_units, c.kernel)), c.better)
        << c.vendor << " " << c.vector_units << " " << c.kernel;
  }
  EXPECT_EQ(better_blas_kernel(host_with("intel", "avx512", "", "mkl")), "");
  EXPECT_EQ(better_blas_kernel(host_with("intel", "avx512", "", "reference")), "");
}

TEST(BetterBlasKernel, IsThatOf512BitsWhereAmdComputesThemInOnePiece) {
  Host host = host_with("amd", "avx512", "Haswell");
  host.cpu_family = 25;  // Zen 4
  EXPECT_EQ(better_blas_kernel(host), "");
  for (const char* kernel : {"Haswell", "Zen", "Prescott"}) {
    host = host_with("amd", "avx512", kernel);
    host.cpu_family = 26;  // Zen 5
    EXPECT_EQ(better_blas_kernel(host), "SkylakeX") << kernel;
  }
  for (const char* kernel : {"SkylakeX", "Cooperlake", "newer"}) {
    host.blas_kernel = kernel;
    EXPECT_EQ(better_blas_kernel(host), "") << kernel;
  }
  host = host_with("amd", "avx2", "Haswell");
  host.cpu_family = 26;
  EXPECT_EQ(better_blas_kernel(host), "") << "AVX-512 switched off";
}

TEST(BlasFromPath, DistinguishesTheLibraries) {
  EXPECT_EQ(blas_from_path("/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3"), "openblas");
  EXPECT_EQ(blas_from_path("/opt/conda/lib/libopenblasp-r0.3.21.so"), "openblas");
  EXPECT_EQ(blas_from_path("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"), "reference");
  EXPECT_EQ(blas_from_path("/opt/intel/lib/libmkl_rt.so.2"), "mkl");
  EXPECT_EQ(blas_from_path("/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3"), "unknown");
}

TEST(CpuFromCpuinfo, ReadsModelVendorAndVectorUnits) {
  const auto xeon = cpu_from_cpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8481C\n"
      "flags\t\t: fpu sse2 fma avx avx2 avx512f avx512dq avx512cd avx512bw avx512vl\n\nprocessor\t: 1\n");
  EXPECT_EQ(xeon.model, "Intel(R) Xeon(R) Platinum 8481C");
  EXPECT_EQ(xeon.vendor, "intel");
  EXPECT_EQ(xeon.vector_units, "avx512");

  const auto knights = cpu_from_cpuinfo("vendor_id\t: GenuineIntel\nflags\t\t: fma avx2 avx512f avx512cd avx512er\n");
  EXPECT_EQ(knights.vector_units, "avx2");  // its AVX-512 lacks the parts that the kernels need

  const auto zen = cpu_from_cpuinfo(
      "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nflags\t\t: fma avx2\n");
  EXPECT_EQ(zen.vendor, "amd");
  EXPECT_EQ(zen.family, 26);
  EXPECT_EQ(zen.vector_units, "avx2");

  const auto old = cpu_from_cpuinfo("vendor_id\t: GenuineIntel\nflags\t\t: sse2 avx avx2_like\n");
  EXPECT_EQ(old.vector_units, "baseline");

  const auto arm = cpu_from_cpuinfo("processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_EQ(arm.model, "");
  EXPECT_EQ(arm.vendor, "other");
  EXPECT_EQ(arm.vector_units, "baseline");
}

}  // namespace
}  // namespace lehi::runtime
