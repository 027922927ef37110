// Progress of `lehi bench` on standard error: the current measurement and the time left. It is estimated from the times
// of a reference machine with two cores.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace lehi::bench {

/// Seconds left after `elapsed` seconds, when `done` of `expected` seconds of the reference machine are done. Uses this
/// machine's pace once a tenth of the work is done.
double seconds_left(double elapsed, double done, double expected);

class BenchProgress {
 public:
  /// `expected`: seconds of all topics on the reference machine.
  BenchProgress(std::ostream& err, double expected);

  /// Begins a topic that takes `expected` seconds on the reference machine.
  void begin(std::string topic, double expected);
  /// Prints what is measured next, when `fraction` of the topic is done. At most one line every two seconds.
  void show(const std::string& what, double fraction);

 private:
  std::ostream& err_;
  double expected_;
  double finished_ = 0.0;  ///< expected seconds of the finished topics
  double current_ = 0.0;   ///< expected seconds of this topic
  std::string topic_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double printed_ = -1e9;  ///< when the last line was printed, in seconds after the start
};

}  // namespace lehi::bench
