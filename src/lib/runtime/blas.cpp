#include "runtime/blas.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace lehi::runtime {
namespace {

// Ordered: a kernel above the CPU's level uses instructions that the CPU does not have.
enum class Level : std::uint8_t { unknown, old, avx2, avx512 };

struct Kernel {
  std::string_view name;
  Level level;
};

// OpenBLAS's x86-64 cores by the vector units that their kernels use. AVX without AVX2 counts as old: no FMA, half
// the speed.
constexpr std::array kernels = {
    Kernel{"katmai", Level::old},       Kernel{"coppermine", Level::old},    Kernel{"northwood", Level::old},
    Kernel{"prescott", Level::old},     Kernel{"banias", Level::old},        Kernel{"atom", Level::old},
    Kernel{"core2", Level::old},        Kernel{"penryn", Level::old},        Kernel{"dunnington", Level::old},
    Kernel{"nehalem", Level::old},      Kernel{"athlon", Level::old},        Kernel{"opteron", Level::old},
    Kernel{"opteron_sse3", Level::old}, Kernel{"barcelona", Level::old},     Kernel{"bobcat", Level::old},
    Kernel{"nano", Level::old},         Kernel{"generic", Level::old},       Kernel{"sandybridge", Level::old},
    Kernel{"bulldozer", Level::old},    Kernel{"piledriver", Level::old},    Kernel{"steamroller", Level::old},
    Kernel{"excavator", Level::avx2},   Kernel{"haswell", Level::avx2},      Kernel{"zen", Level::avx2},
    Kernel{"skylakex", Level::avx512},  Kernel{"cooperlake", Level::avx512}, Kernel{"sapphirerapids", Level::avx512},
};

Level level_of(std::string_view kernel) {
  std::string lower(kernel);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == lower; });
  return found == kernels.end() ? Level::unknown : found->level;
}

Level level_of_cpu(std::string_view vector_units) {
  return vector_units == "avx512" ? Level::avx512 : vector_units == "avx2" ? Level::avx2 : Level::old;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The value of "key<tabs>: value" for the first processor in /proc/cpuinfo.
std::string_view cpuinfo_value(std::string_view text, std::string_view key) {
  for (std::size_t line = 0; line < text.size(); line = std::min(text.find('\n', line), text.size()) + 1) {
    const auto rest = text.substr(line, text.find('\n', line) - line);
    if (!rest.starts_with(key)) continue;
    const auto colon = rest.find_first_not_of(" \t", key.size());
    if (colon == std::string_view::npos || rest[colon] != ':') continue;
    const auto value = rest.find_first_not_of(' ', colon + 1);
    return value == std::string_view::npos ? std::string_view{} : rest.substr(value);
  }
  return {};
}

template <class Function>
Function* symbol(const char* name) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how POSIX defines dlsym for functions
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// MKL's own interface: the number of threads for calls from this thread (0: as for the process); returns the one
// before.
int set_mkl_threads_here(int threads) {
  auto* const set = symbol<int(int)>("MKL_Set_Num_Threads_Local");
  return set == nullptr ? 0 : set(threads);
}

int take_one_mkl_thread() {
  // At the first call on a thread LibTorch sets MKL's number there, once for itself and once for its templates in our
  // code: both before this, not after.
  at::get_num_threads();
  at::internal::lazy_init_num_threads();
  return set_mkl_threads_here(1);
}

}  // namespace

std::string blas_from_path(std::string_view file) {
  if (contains(file, "openblas")) return "openblas";
  if (contains(file, "mkl")) return "mkl";
  // Debian's netlib BLAS, the plain Fortran loops: .../blas/libblas.so.3.11.0
  if (contains(file, "/blas/libblas.so") || contains(file, "librefblas")) return "reference";
  return "unknown";
}

Cpu cpu_from_cpuinfo(std::string_view cpuinfo) {
  Cpu cpu;
  cpu.model = cpuinfo_value(cpuinfo, "model name");
  const auto vendor = cpuinfo_value(cpuinfo, "vendor_id");
  cpu.vendor = vendor == "GenuineIntel" ? "intel" : vendor == "AuthenticAMD" ? "amd" : "other";
  const auto flags = fmt::format(" {} ", cpuinfo_value(cpuinfo, "flags"));
  const auto has = [&](std::string_view flag) { return contains(flags, fmt::format(" {} ", flag)); };
  const bool avx2 = has("avx2") && has("fma");
  const bool avx512 =
      avx2 && has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd");
  cpu.vector_units = avx512 ? "avx512" : avx2 ? "avx2" : "baseline";
  const auto family = cpuinfo_value(cpuinfo, "cpu family");
  std::from_chars(family.data(), family.data() + family.size(), cpu.family);
  return cpu;
}

std::string loaded_blas() {
  void* const sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info = {};
  if (sgemm == nullptr || dladdr(sgemm, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  // LibTorch's own builds contain MKL.
  if (contains(info.dli_fname, "/libtorch_cpu.so") && at::hasMKL()) return "mkl";
  return blas_from_path(error ? std::string(info.dli_fname) : file.string());
}

std::string loaded_blas_kernel() {
  auto* const corename = symbol<char*()>("openblas_get_corename");
  return corename == nullptr ? "" : corename();
}

void set_blas_threads(int threads) {
  if (auto* const set = symbol<void(int)>("openblas_set_num_threads")) set(threads);
}

OneBlasThread::OneBlasThread() : before_(take_one_mkl_thread()) {}
OneBlasThread::~OneBlasThread() { set_mkl_threads_here(before_); }

int blas_threads() {
  if (auto* const count = symbol<int()>("openblas_get_num_threads")) return count();
  if (auto* const count = symbol<int()>("mkl_get_max_threads")) return count();
  return 0;
}

std::string better_blas_kernel(const Host& host) {
  // An unknown kernel is probably newer than this table: keep it.
  const Level level = level_of(host.blas_kernel);
  if (host.blas != "openblas" || level_of_cpu(host.vector_units) == Level::old || level == Level::unknown) return "";
  // Zen 5 (family 26) has vector units of 512 bits: twice the speed of the AVX2 kernel, which OpenBLAS 0.3.21 selects.
  // Zen 4 computes 512 bits in two halves.
  constexpr int kZen5 = 26;
  if (host.vendor == "amd" && host.vector_units == "avx512" && host.cpu_family >= kZen5) {
    return level < Level::avx512 ? "SkylakeX" : "";
  }
  if (level != Level::old) return "";
  if (host.vendor == "amd") return "Zen";
  return host.vendor == "intel" && host.vector_units == "avx512" ? "SkylakeX" : "Haswell";
}

bool kernel_exceeds_cpu(const Host& host) { return level_of(host.blas_kernel) > level_of_cpu(host.vector_units); }

}  // namespace lehi::runtime
