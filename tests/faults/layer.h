// A layer under every file operation of a process, for tests only. It counts the operations that change files below one
// directory; at the n-th the disk fails or the process is killed. layer.cpp replaces the system calls themselves (open,
// write, fsync, rename, ...), so it covers all code that writes files. Linked into a test, it applies to this process
// and its forks; as liblehi_faults.so in LD_PRELOAD, with the control file's name in LEHI_FAULTS, to the real program
// and the processes that it starts.
#pragma once

#include <atomic>
#include <cstdint>

namespace lehi::faults {

enum class Kind : std::int32_t {
  none,
  enospc,       ///< the n-th operation fails: the disk is full
  eio,          ///< it fails: input/output error
  short_write,  ///< a write writes half of its bytes and the next one fails (ENOSPC); EIO if it is not a write
  full,         ///< from the n-th on, every operation that needs space fails
  broken,       ///< from the n-th on, every operation fails: input/output error
  kill,         ///< SIGKILL before it
  kill_inside,  ///< SIGKILL in the middle of a write, or after any other operation
};
inline constexpr int kinds = 8;

/// The state that all processes under the layer share, in a mapped file.
struct Control {
  static constexpr std::size_t trace_bytes = 1 << 20;

  std::atomic<std::int64_t> count;   ///< operations so far
  std::atomic<std::int64_t> struck;  ///< how often the fault has occurred
  std::int64_t at;                   ///< n, from 1
  Kind kind;
  std::int32_t keep_syncs;  ///< 0: fsync is counted but not executed; a killed process loses no data
  std::int32_t tracing;
  std::int32_t no_exchange;  ///< 1: like a file system without RENAME_EXCHANGE
  char directory[1024];      ///< absolute; operations below it count
  std::atomic<std::int64_t> trace_size;
  char trace[trace_bytes];  ///< lines "operation path"; "outside path": a file opened for writing elsewhere
};

/// Applies the layer to this process and its future forks; nullptr removes it.
void attach(Control* control);

/// Called instead of execve("/proc/self/exe", ...) in a process under the layer: the fork, which has loaded LibTorch
/// already, runs the program, which saves the start. nullptr: execve as usual.
using ExecHook = void (*)(char** arguments);
void set_exec_hook(ExecHook hook);

}  // namespace lehi::faults
