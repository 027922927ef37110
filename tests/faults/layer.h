// A layer under every file operation of a process, for tests only: it counts those that change files below one
// directory, and at the n-th one lets the disk fail or the process die. layer.cpp defines the system calls themselves
// (open, write, fsync, rename, ...), so whatever writes a file passes through it. Linked into a test it stands under
// this process and its forks; as the library liblehi_faults.so in LD_PRELOAD, with LEHI_FAULTS naming a control file,
// under the real program and the processes that it starts.
#pragma once

#include <atomic>
#include <cstdint>

namespace lehi::faults {

enum class Kind : std::int32_t {
  none,
  enospc,       ///< the n-th operation says that the disk is full
  eio,          ///< it reports an input/output error
  short_write,  ///< a write takes half of its bytes, the one after it none (ENOSPC); EIO where it is no write
  full,         ///< from the n-th on, whatever needs space finds none
  broken,       ///< from the n-th on every operation reports an input/output error
  kill,         ///< SIGKILL just before it
  kill_inside,  ///< SIGKILL in the middle of a write; just after any other operation
};
inline constexpr int kinds = 8;

/// What all processes under the layer share, in a mapped file.
struct Control {
  static constexpr std::size_t trace_bytes = 1 << 20;

  std::atomic<std::int64_t> count;   ///< operations so far
  std::atomic<std::int64_t> struck;  ///< how often the fault has come
  std::int64_t at;                   ///< n, from 1
  Kind kind;
  std::int32_t keep_syncs;  ///< 0: fsync is counted but not done; a process's death loses no page
  std::int32_t tracing;
  std::int32_t no_exchange;  ///< 1: a file system that can't swap two names (RENAME_EXCHANGE), as some can't
  char directory[1024];      ///< absolute; what is below it counts
  std::atomic<std::int64_t> trace_size;
  char trace[trace_bytes];  ///< "operation path\n" each; "outside path\n": a file opened for writing elsewhere
};

/// Puts this process and its future forks under the layer; nullptr takes it away.
void attach(Control* control);

/// What execve("/proc/self/exe", ...) does instead in a process under the layer: a fork that has LibTorch loaded can be
/// the program, which saves its start. nullptr: execve as usual.
using ExecHook = void (*)(char** arguments);
void set_exec_hook(ExecHook hook);

}  // namespace lehi::faults
