// A contest in its directory:
//
//   contest.toml         the file, as given
//   contest.json         the result so far, contest_json.h
//   TASK/phases.json     which arms were run together, batches.h
//   TASK/PHASE/          a study each: speed, rates, knob, verdict, speedup-round1, ...
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "contest/contest_file.h"
#include "study/runner.h"

namespace lehi::contest {

inline constexpr const char* kContestFile = "contest.toml";

struct ContestRequest {
  std::string file;  ///< a built-in contest or a path; "" with resume: the directory's contest.toml
  std::filesystem::path directory;
  std::vector<std::string> tasks;  ///< to run now; empty: all
  std::vector<std::string> arms;   ///< likewise
  bool resume = false;
  std::vector<std::string> command_line;  ///< for the record
  study::RunnerRequest runner;            ///< jobs, program, data directory; the rest is set by the contest
  /// Called with runs that need all data of the tasks, before anything is run; throws if data is missing.
  std::function<void(const std::vector<study::PlannedRun>&)> check = [](const auto&) {};
  /// Called with each contest.json after it has been written.
  std::function<void(const Result&)> written = [](const auto&) {};
};

struct ContestOutcome {
  Result result;
  int signal = 0;       ///< the signal that stopped it, or 0
  int failed_code = 0;  ///< exit code of failed runs; 0 if none failed
};

/// Runs the contest, or what is missing of it. A run that diverges is a result; one that fails holds up its arm only.
/// Throws FileError, with nothing written, when the directory is in use, holds anything else, holds a contest with
/// other settings, or holds this one and `resume` is false.
ContestOutcome run_contest(const ContestRequest& request, std::ostream& err);

}  // namespace lehi::contest
