// The faults that a test tries: all of them if LEHI_FAULTS_ALL is set (`make faults`), else a sample.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "faults/harness.h"

namespace lehi::faults {

inline bool tries_all() { return std::getenv("LEHI_FAULTS_ALL") != nullptr; }

/// Every operation with every kind; in a sample, `count` evenly spaced operations with the kinds in turn.
inline std::vector<Fault> fault_points(std::int64_t operations, std::int64_t count) {
  std::vector<Fault> faults;
  const auto kind = [](std::int64_t i) { return static_cast<Kind>(1 + i % (kinds - 1)); };
  if (tries_all()) {
    for (std::int64_t n = 1; n <= operations; ++n) {
      for (int i = 0; i + 1 < kinds; ++i) faults.push_back({kind(i), n});
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) faults.push_back({kind(i), 1 + i * operations / count});
  }
  return faults;
}

/// Expects one error message without a stack trace from a process with a fault.
inline void expect_good_message(const Ended& ended, const Fault& fault) {
  const std::string shown = text_of(fault) + ", exit code " + std::to_string(ended.code) + ":\n" + ended.err;
  for (const char* trace : {"Exception raised", "terminate called", "frame #", "std::", "what()"}) {
    EXPECT_EQ(ended.err.find(trace), std::string::npos) << shown;
  }
  if (kills_process(fault.kind) || ended.code == cli::done) return;
  EXPECT_EQ(ended.code, cli::bad_input) << shown;
  EXPECT_EQ(ended.complaints().size(), 1U) << shown;
}

}  // namespace lehi::faults
