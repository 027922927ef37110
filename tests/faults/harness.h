// The program under the layer of layer.h: as a fork of this process, which has LibTorch loaded already, or for real.
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
inline bool kills(Kind kind) { return kind == Kind::kill || kind == Kind::kill_inside; }
/// The disk works again at the next operation.
inline bool passes(Kind kind) { return kind == Kind::enospc || kind == Kind::eio || kind == Kind::short_write; }

struct Ended {
  int code = 0;  ///< the exit code, or minus the signal that ended it
  std::string out;
  std::string err;
  std::int64_t operations = 0;
  bool struck = false;  ///< the fault has come

  std::vector<std::string> complaints() const;  ///< the lines of err that begin with "lehi: cannot"
};

/// A control file in `scratch`, and processes under it whose operations below `directory` count.
class Layer {
 public:
  Layer(std::filesystem::path scratch, const std::filesystem::path& directory);
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer();

  /// The program in a fork of this process, which must have one thread only. Returns when its own processes are gone
  /// too.
  Ended run(const cli::Arguments& arguments, const Fault& fault = {});

  /// Anything else in a fork; its exit code is what it returns.
  Ended run_work(const std::function<int()>& work, const Fault& fault = {});

  /// The built program, a process of its own.
  Ended run_real(const cli::Arguments& arguments, const Fault& fault = {});

  /// The same without waiting: the process's number, for finish().
  int start(const cli::Arguments& arguments, const Fault& fault = {});
  int start_real(const cli::Arguments& arguments, const Fault& fault = {});
  Ended finish(int process);

  /// Whether fsync reaches the disk. A process that dies loses nothing without, and tests are faster.
  void keep_syncs(bool on) { control_->keep_syncs = on ? 1 : 0; }

  /// Whether the file system can swap two names.
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

/// `work` in a fork of this process; its exit code, or minus the signal that ended it.
int forked(const std::function<int()>& work);

}  // namespace lehi::faults
