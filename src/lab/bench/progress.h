// Lines on standard error that say what is being measured and how long it will still take.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace lehi::bench {

/// Seconds left when so much of the expected work took so long: by this machine's pace, once there is enough to judge.
double seconds_left(double elapsed, double done, double expected);

class BenchProgress {
 public:
  /// expected: seconds of everything, on the machine that this was written on.
  BenchProgress(std::ostream& err, double expected);

  /// The next part, of so many expected seconds.
  void begin(std::string topic, double expected);
  /// What comes now, when `fraction` of the part is done. Lines that follow each other closely are left out.
  void say(const std::string& what, double fraction);

 private:
  std::ostream& err_;
  double expected_;
  double finished_ = 0.0;  // expected seconds of the parts that are over
  double current_ = 0.0;   // of this one
  std::string topic_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double said_ = -1e9;  // seconds after the start
};

}  // namespace lehi::bench
