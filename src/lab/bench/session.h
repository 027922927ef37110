// One run of `lehi bench`: what was asked for, and what is found.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/growth_curve.h"
#include "bench/measurement.h"
#include "bench/progress.h"

namespace lehi::bench {

struct Settings {
  std::vector<std::string> topics = {};  ///< names; empty: all
  bool correctness = false;              ///< only the checks, no timing
  int rounds = 0;                        ///< 0: each measurement's own number
  bool growth_large = false;             ///< models up to 1.2 billion weights
  std::string python = "/usr/bin/python3";
  std::string program = "/proc/self/exe";  ///< itself, for measurements that need a process of their own
};

class Session {
 public:
  Session(Settings settings, BenchProgress& progress, std::ostream& err);

  const Settings& settings() const { return settings_; }
  int rounds(int usual) const { return settings_.rounds > 0 ? settings_.rounds : usual; }
  BenchProgress& progress() { return progress_; }
  /// Reports the rounds of a contest, which fill the part of a topic between two fractions.
  std::function<void(int)> rounds_of(const std::string& what, int rounds, double from, double to);

  /// Compares with the plain version, once for each name. "" when `difference()` is at most `tolerance`, else the
  /// sentence that says so.
  std::string check(const std::string& name, double tolerance, const std::function<double()>& difference);

  void add(Measurement figure) { figures_.push_back(std::move(figure)); }
  void skip(Unmeasured figure) { unmeasured_.push_back(std::move(figure)); }
  void add(GrowthCurve curve) { curves_.push_back(std::move(curve)); }

  /// With Settings::correctness the checks, else the measurements.
  std::vector<Measurement> figures() const;
  const std::vector<Unmeasured>& unmeasured() const { return unmeasured_; }
  const std::vector<GrowthCurve>& curves() const { return curves_; }

 private:
  Settings settings_;
  BenchProgress& progress_;
  std::ostream& err_;
  std::vector<Measurement> checks_;
  std::vector<Measurement> figures_;
  std::vector<Unmeasured> unmeasured_;
  std::vector<GrowthCurve> curves_;
};

struct Topic {
  std::string_view name;
  std::string_view summary;
  double expected_seconds;
  void (*check)(Session& session);    ///< the plain versions against ours
  void (*measure)(Session& session);  ///< checks too
};

/// All of them, in the order of the table.
const std::vector<Topic>& topics();

/// Runs what the settings ask for.
void run_topics(Session& session);

/// Expected seconds of what the settings ask for.
double expected_seconds(const Settings& settings);

// Each of these is a file of this room.
void check_update(Session& session);
void measure_update(Session& session);
void check_loss(Session& session);
void measure_loss(Session& session);
void check_step(Session& session);
void measure_step(Session& session);
void measure_torch(Session& session);
void measure_machine(Session& session);
void measure_memory(Session& session);
void measure_growth(Session& session);

}  // namespace lehi::bench
