// libFuzzer's entry points. LEHI_FUZZ_TARGET names the target. A finding aborts the process like a crash, so libFuzzer
// stores the input.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness.h"

namespace {

const lehi::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("LEHI_FUZZ_TARGET");
  if (name != nullptr) chosen = lehi::fuzz::find_target(name);
  if (chosen != nullptr) return 0;
  for (const auto& target : lehi::fuzz::targets()) std::printf("%s\n", target.name.c_str());
  std::exit(name == nullptr ? 0 : 2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned bytes to char
    lehi::fuzz::run_target(*chosen, {reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& finding) {
    std::fprintf(stderr, "finding: %s\n", finding.what());
    std::abort();
  }
  return 0;
}
