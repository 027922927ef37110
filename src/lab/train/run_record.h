// run.json: what was trained, where and how, and how the run ended. Written when a run starts and whenever its status
// changes: every run has a record, also a failed one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lehi/runtime.h"
#include "lehi/version.h"

namespace lehi::train {

enum class RunStatus { running, done, diverged, interrupted, failed };

std::string_view status_name(RunStatus status);

struct RunRecord {
  static constexpr int kSchema = 1;

  std::string lehi_version = LEHI_VERSION;
  std::string git_hash;   ///< of the program's source; "" if it was not built in a checkout
  std::string host_name;  ///< host.name in the file
  runtime::Host host;
  std::vector<std::string> command_line;
  RunStatus status = RunStatus::running;
  std::string message;  ///< why it diverged or failed; "" otherwise
  std::string task;
  std::string preset;
  std::string optimizer;
  double lr = 0.0;
  std::uint64_t seed = 0;
  std::int64_t parameters = 0;                       ///< number of trained values of the model
  std::string started;                               ///< UTC, e.g. 2024-05-06T07:08:09Z
  std::string finished;                              ///< "" (null in the file) while the run is running
  nlohmann::json result = nlohmann::json::object();  ///< final metrics by name; empty while the run is running
  std::vector<std::int64_t> sessions;                ///< steps at which it was started or resumed: 0, 4000, ...
  std::vector<std::string> notices;                  ///< messages for the reader of the result, one sentence each
  std::string unknown;  ///< not in the file: a message about a key that this version does not support, or ""
};

/// The current time as in a record.
std::string utc_now();
/// The Unix time of such a string. FileError, naming `where`, if it is not a time.
double unix_time(const std::string& utc, const std::string& where);

std::string host_name();

void write_run_record(const std::filesystem::path& path, const RunRecord& record);

/// FileError, naming file and key, if a value is missing, of the wrong type, or of a newer schema. An unknown key is
/// ignored and reported in `unknown`: such a record can be shown, but writing it again would lose the key.
RunRecord read_run_record(const std::filesystem::path& path);

/// A message if a run that is resumed on another machine will differ from an uninterrupted one in the last bits,
/// because the machines round differently: other vector units, BLAS kernel, LibTorch or number of threads. Else "".
std::string rounding_differences(const runtime::Host& before, const runtime::Host& now);

}  // namespace lehi::train
