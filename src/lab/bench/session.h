// One run of `lehi bench`: its settings, topics and results.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "bench/growth_curve.h"
#include "bench/measurement.h"
#include "bench/progress.h"

namespace lehi::bench {

struct Settings {
  std::vector<std::string> topics = {};  ///< names; empty: all
  bool correctness = false;              ///< run the checks only, without timing
  int rounds = 0;                        ///< 0: the default of each measurement
  bool growth_large = false;             ///< models up to 1.2 billion weights
  std::string python = "/usr/bin/python3";
  std::string program = "/proc/self/exe";  ///< this program, for measurements in a process of their own
};

class Session {
 public:
  Session(Settings settings, BenchProgress& progress, std::ostream& err);

  const Settings& settings() const { return settings_; }
  int rounds(int usual) const { return settings_.rounds > 0 ? settings_.rounds : usual; }
  BenchProgress& progress() { return progress_; }
  /// A function for Contest::run() that shows the progress of its rounds, which take the topic from the fraction `from`
  /// to the fraction `to`.
  std::function<void(int)> round_progress(const std::string& what, int rounds, double from, double to);

  /// Compares an implementation with its plain version, once per name. Returns "" if `difference()` is at most
  /// `tolerance`, else a sentence, which is also printed.
  std::string check(const std::string& name, double tolerance, const std::function<double()>& difference);

  void add(Measurement measurement) { measurements_.push_back(std::move(measurement)); }
  void skip(Unmeasured unmeasured) { unmeasured_.push_back(std::move(unmeasured)); }
  void add(GrowthCurve curve) { curves_.push_back(std::move(curve)); }

  /// The checks with Settings::correctness, else the measurements.
  std::vector<Measurement> measurements() const;
  const std::vector<Unmeasured>& unmeasured() const { return unmeasured_; }
  const std::vector<GrowthCurve>& curves() const { return curves_; }

 private:
  Settings settings_;
  BenchProgress& progress_;
  std::ostream& err_;
  std::vector<Measurement> checks_;
  std::vector<Measurement> measurements_;
  std::vector<Unmeasured> unmeasured_;
  std::vector<GrowthCurve> curves_;
};

struct Topic {
  std::string_view name;
  std::string_view summary;
  double expected_seconds = 0.0;                ///< on the reference machine
  void (*check)(Session& session) = nullptr;    ///< compares with the plain versions
  void (*measure)(Session& session) = nullptr;  ///< includes the checks
};

/// All topics, in the order of the output.
const std::vector<Topic>& topics();

/// Runs the topics of the session's settings.
void run_topics(Session& session);

/// Expected seconds of the settings' topics.
double expected_seconds(const Settings& settings);

// One file per topic.
void check_update(Session& session);
void measure_update(Session& session);
void check_loss(Session& session);
void measure_loss(Session& session);
void check_step(Session& session);
void measure_step(Session& session);
void measure_shapes(Session& session);
void measure_torch(Session& session);
void measure_machine(Session& session);
void measure_memory(Session& session);
void measure_growth(Session& session);

}  // namespace lehi::bench
