// run.json: what a run was, where and how it ran, and how it ended. Written when a run starts and whenever its status
// changes, so that every run, failed ones included, leaves a record.
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
  std::string git_hash;   ///< of the program's source; "" when it was built outside a checkout
  std::string host_name;  ///< run.json: host.name
  runtime::Host host;
  std::vector<std::string> command_line;
  RunStatus status = RunStatus::running;
  std::string message;  ///< why it diverged or failed; "" otherwise
  std::string task;
  std::string preset;
  std::string optimizer;
  double lr = 0.0;
  std::uint64_t seed = 0;
  std::int64_t parameters = 0;                       ///< trained numbers of the model
  std::string started;                               ///< UTC, e.g. 2024-05-06T07:08:09Z
  std::string finished;                              ///< "" (null in the file) while it runs
  nlohmann::json result = nlohmann::json::object();  ///< final metrics, by name; empty while it runs
  std::vector<std::int64_t> sessions;                ///< steps at which it was started or resumed: 0, 4000, ...
  std::vector<std::string> notices;                  ///< what a reader of the result should know, one sentence each
  std::string unknown;  ///< not in the file: a sentence about a key there that this version does not know, or ""
};

/// The time now as a record writes it, and the Unix time of such a text (FileError naming `where` when it is none).
std::string utc_now();
double unix_time(const std::string& utc, const std::string& where);

std::string host_name();

void write_run_record(const std::filesystem::path& path, const RunRecord& record);

/// FileError naming file and key where something is missing, of the wrong kind, or from a newer schema. A key that is
/// not known is passed over and told of in `unknown`: such a record can be shown, but written again it would lose the
/// key.
RunRecord read_run_record(const std::filesystem::path& path);

/// One sentence where a run that goes on will not have the bits of one that was never stopped, since the machine rounds
/// differently: another processor, BLAS kernel, LibTorch or number of threads. Else "".
std::string what_changes_bits(const runtime::Host& before, const runtime::Host& now);

}  // namespace lehi::train
