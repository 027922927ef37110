// Slurm's commands as shell scripts. sbatch runs the tasks of a job one after the other and writes the end of each to a
// file task-JOB_INDEX: state, reason, exit code, signal. Tests may also write such files themselves.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/environment.h"
#include "train/scratch.h"

namespace lehi::testing {

inline constexpr const char* kSbatch = R"(#!/bin/sh
here=$(dirname "$0")
test -f "$here/rejection" && { cat "$here/rejection" >&2; exit 1; }
test -f "$here/nonsense" && { cat "$here/nonsense"; exit 0; }
job=$(($(cat "$here/jobs" 2>/dev/null || echo 100) + 1))
echo $job > "$here/jobs"
{ printf '<%s>' "$@"; echo; } >> "$here/submitted"
while test $# -gt 0; do
  case "$1" in
    --array=0-*) last=${1#--array=0-}; last=${last%%\%*} ;;
    --job-name=*) name=${1#--job-name=} ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
echo "$name $job" >> "$here/names"
i=0
while test $i -le "$last"; do
  if test -f "$here/end-$i"; then
    cat "$here/end-$i" > "$here/task-${job}_$i"
  else
    SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$i SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 sh "$@"
    code=$?
    state=COMPLETED
    test $code -eq 0 || state=FAILED
    echo "$state None $code 0" > "$here/task-${job}_$i"
  fi
  i=$((i + 1))
done
echo $job
)";

inline constexpr const char* kSqueue = R"sh(#!/bin/sh
here=$(dirname "$0")
test -f "$here/silent" && {
  echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
  echo asked >> "$here/silent"
  test $(wc -l < "$here/silent") -gt 2 && rm "$here/silent"
  exit 1
}
for argument; do
  case "$argument" in
    --name=*) sed -n "s/^${argument#--name=} //p" "$here/names"; exit 0 ;;
    --jobs=*) job=${argument#--jobs=} ;;
  esac
done
test -f "$here/next" && sh "$here/next" "$here"
ls "$here" | grep -q "^task-${job}_" || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
for file in "$here"/task-${job}_*; do
  read -r state reason code signal < "$file"
  echo "${file##*task-}|$state|$reason"
done
)sh";

inline constexpr const char* kScontrol = R"sh(#!/bin/sh
here=$(dirname "$0")
test "$*" = "show config" && { cat "$here/config"; exit 0; }
test "$1 $2 $3" = "--oneliner show job" || exit 2
read -r state reason code signal < "$here/task-$4" || { echo "slurm_load_jobs error: Invalid job id" >&2; exit 1; }
echo "JobId=1 JobName=x JobState=$state Reason=$reason Dependency=(null) ExitCode=$code:$signal Command=/x JobState=no"
)sh";

inline constexpr const char* kScancel = R"sh(#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/cancelled"
for argument; do
  case "$argument" in
    -*) ;;
    *_*) echo "FAILED None 143 0" > "$here/task-$argument" ;;
    *) for file in $(grep -l ^PENDING "$here"/task-${argument}_*); do echo "CANCELLED None 0 0" > "$file"; done ;;
  esac
done
)sh";

/// Puts these commands first on the PATH during its lifetime.
class FakeSlurm {
 public:
  FakeSlurm() : path_("PATH", directory_.path().string() + ":" + ::getenv("PATH")) {
    const std::pair<const char*, const char*> commands[] = {
        {"sbatch", kSbatch}, {"squeue", kSqueue}, {"scontrol", kScontrol}, {"scancel", kScancel}};
    for (const auto& [name, text] : commands) {
      spill(directory_ / name, text);
      ::chmod((directory_ / name).c_str(), 0755);
    }
    spill(directory_ / "config", "Some = thing\nMaxArraySize            = 1001\n");
  }

  std::filesystem::path operator/(const std::string& name) const { return directory_ / name; }

  std::string read(const std::string& name) const {
    return std::filesystem::exists(directory_ / name) ? slurp(directory_ / name) : "";
  }

 private:
  Scratch directory_;
  Environment path_;
};

}  // namespace lehi::testing
