// Measures the peak memory of this process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace lehi::testing {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;  // it deliberately keeps freed memory in quarantine
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// Measures the peak since its construction, which resets the peak that Linux records.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = bytes_of("VmRSS:");
  }

  /// The peak of resident bytes minus those at construction; nothing under the address sanitizer.
  std::optional<std::int64_t> growth() const {
    if (kAddressSanitizer) return std::nullopt;
    return bytes_of("VmHWM:") - before_;
  }

 private:
  static std::int64_t bytes_of(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      std::int64_t kilobytes = 0;
      if (word == field && status >> kilobytes) return kilobytes * 1024;
    }
    return 0;
  }

  std::int64_t before_ = 0;
};

}  // namespace lehi::testing
