// How much memory this process takes at its peak, from now on.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace lehi::testing {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;  // it keeps freed memory in quarantine on purpose
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// Linux can forget a process's peak: what comes after is then that of the lines in between.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = bytes_of("VmRSS:");
  }

  /// Resident bytes above those at the beginning, at most; nothing under the address sanitizer.
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
