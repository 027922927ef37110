// Runs the program under the layer of layer.h: as a fork of this process, which has loaded LibTorch already, or as a
// process of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "faults/layer.h"

namespace lehi::faults {

struct Fault {
  Kind kind = Kind::none;
  std::int64_t at = 0;
};

std::string_view name_of(Kind kind);
std::string text_of(const Fault& fault);  ///< "short_write at operation 12"
inline bool kills_process(Kind kind) { return kind == Kind::kill || kind == Kind::kill_inside; }
/// Whether the disk works again at the next operation.
inline bool is_temporary(Kind kind) { return kind == Kind::enospc || kind == Kind::eio || kind == Kind::short_write; }

struct Ended {
  int code = 0;  ///< the exit code, or minus the signal that killed the process
  std::string out;
  std::string err;
  std::int64_t operations = 0;
  bool struck = false;  ///< the fault has occurred

  std::vector<std::string> complaints() const;  ///< the lines of err that begin with "lehi: cannot"
};

/// Starts processes with faults: operations below `directory` count. The control file is in `scratch`.
class Layer {
 public:
  Layer(std::filesystem::path scratch, const std::filesystem::path& directory);
  Layer(const Layer&) = delete;
  Layer(Layer&&) = delete;
  Layer& operator=(const Layer&) = delete;
  Layer& operator=(Layer&&) = delete;
  ~Layer();

  /// Runs the program in a fork of this process, which must have one thread only. Returns when the processes that it
  /// starts have ended too.
  Ended run(const cli::Arguments& arguments, const Fault& fault = {});

  /// Runs a function in a fork; the exit code is its return value.
  Ended run_work(const std::function<int()>& work, const Fault& fault = {});

  /// Runs the built program in a process of its own.
  Ended run_real(const cli::Arguments& arguments, const Fault& fault = {});

  /// The same without waiting; the process id is the argument of finish().
  int start(const cli::Arguments& arguments, const Fault& fault = {});
  int start_real(const cli::Arguments& arguments, const Fault& fault = {});
  Ended finish(int process);

  /// Whether fsync is executed. A killed process loses no data without it, and tests are faster.
  void keep_syncs(bool on) { control_->keep_syncs = on ? 1 : 0; }

  /// Whether the file system supports RENAME_EXCHANGE.
  void allow_exchange(bool on) { control_->no_exchange = on ? 0 : 1; }

  void trace(bool on) { control_->tracing = on ? 1 : 0; }
  std::vector<std::string> traced() const;

 private:
  void arm(const Fault& fault);
  int start_work(const std::function<int()>& work, const Fault& fault);
  std::filesystem::path out() const { return scratch_ / "out.txt"; }
  std::filesystem::path err() const { return scratch_ / "err.txt"; }
  void redirect() const;

  std::filesystem::path scratch_;
  Control* control_ = nullptr;
};

/// Runs `work` in a fork of this process. Returns its exit code, or minus the signal that killed it.
int forked(const std::function<int()>& work);

}  // namespace lehi::faults
