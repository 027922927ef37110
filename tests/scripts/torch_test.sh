#!/usr/bin/env bash
# scripts/torch: which LibTorch is chosen, and the sentence for each unusable one. LibTorch, python3 and pip are stand-ins, in a
# directory that has a copy of the script.   usage: torch_test.sh SOURCE_DIRECTORY
set -euo pipefail
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/project/scripts" "$work/bin"
cp "$1/scripts/torch" "$work/project/scripts"
failures=0
unset TORCH CMAKE_PREFIX_PATH

torch_at() {  # root version [line of TorchConfig.cmake]
  mkdir -p "$1/lib" "$1/share/cmake/Torch"
  touch "$1/lib/libtorch_cpu.so"
  echo "set(PACKAGE_VERSION \"$2\")" >"$1/share/cmake/Torch/TorchConfigVersion.cmake"
  echo "${3:-}" >"$1/share/cmake/Torch/TorchConfig.cmake"
}

# The python3 on the PATH: FAKE_TORCH is the directory of its torch; its pip installs the version that it is asked for.
cat >"$work/bin/python3" <<'EOF'
#!/usr/bin/env bash
case "$*" in
  *find_spec*) [ -n "${FAKE_TORCH:-}" ] && echo "$FAKE_TORCH" ;;
  *ensurepip*) ;;
  "-m venv "*)
    mkdir -p "$3/bin"
    cat >"$3/bin/pip" <<'PIP'
#!/usr/bin/env bash
root=$(dirname "$0")/../lib/python3.11/site-packages/torch
mkdir -p "$root/share/cmake/Torch"
touch "$root/share/cmake/Torch/TorchConfig.cmake"
for argument in "$@"; do
  [[ $argument != torch==* ]] || echo "set(PACKAGE_VERSION \"${argument#torch==}\")" >"$root/share/cmake/Torch/TorchConfigVersion.cmake"
done
echo "$@" >>"$(dirname "$0")/calls"
PIP
    chmod +x "$3/bin/pip"
    ;;
  *) exit 1 ;;
esac
EOF
chmod +x "$work/bin/python3"
# No nvcc, whatever this machine has.
for tool in bash cat chmod cksum cut dirname env grep head mkdir realpath rm sed sort touch; do
  ln -s "$(command -v $tool)" "$work/bin/$tool"
done
export PATH=$work/bin

expect() {  # what, pattern (a regular expression for all of the output), command...
  local what=$1 pattern=$2 output
  shift 2
  output=$(env "$@" 2>&1) || true
  if [[ ! $output =~ ^$pattern$ ]]; then
    printf 'FAILED: %s\n  expected: %s\n  output:   %s\n' "$what" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}
script=$work/project/scripts/torch
torch_at "$work/new" 2.13.0
torch_at "$work/minimum" 2.10.0
torch_at "$work/old" 2.9.1
torch_at "$work/ancient" 1.12.1
torch_at "$work/debian-like" 1.13.1
torch_at "$work/abi" 2.10.0 '  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")'
torch_at "$work/env/lib/python3.12/site-packages/torch" 2.11.0
torch_at "$work/cuda" 2.13.0
touch "$work/cuda/lib/libtorch_cuda.so"
mkdir -p "$work/bare/lib" "$work/empty"
touch "$work/bare/lib/libtorch_cpu.so"

# Who is chosen.
expect "nothing: Debian's" "/usr" "$script" root
expect "nothing: its name" "debian" "$script" name
expect "nothing: the sentence" "LibTorch .*: Debian's libtorch-dev \(no other was chosen\)" "$script"
expect "TORCH before CMAKE_PREFIX_PATH" "$work/new" TORCH="$work/new" CMAKE_PREFIX_PATH="$work/minimum" FAKE_TORCH="$work/minimum" "$script" root
expect "CMAKE_PREFIX_PATH before python3" "$work/new" CMAKE_PREFIX_PATH="$work/empty:$work/new:$work/minimum" FAKE_TORCH="$work/minimum" "$script" root
expect "CMAKE_PREFIX_PATH without LibTorch is passed over" "$work/new" CMAKE_PREFIX_PATH="$work/empty" FAKE_TORCH="$work/new" "$script" root
expect "python3's torch" "LibTorch 2.13.0: $work/new \(of the python3 on the PATH\)" FAKE_TORCH="$work/new" "$script"
expect "python3's torch, the oldest" "$work/minimum" FAKE_TORCH="$work/minimum" "$script" root
expect "TORCH=debian, although python3 has torch" "/usr" TORCH=debian FAKE_TORCH="$work/new" "$script" root
expect "an environment's directory" "$work/env/lib/python3.12/site-packages/torch" TORCH="$work/env" "$script" root
expect "torch.utils.cmake_prefix_path" "$work/new" TORCH="$work/new/share/cmake" "$script" root
expect "1.13 of another place" "$work/debian-like" TORCH="$work/debian-like" "$script" root
first=$("$script" name)
second=$(TORCH=$work/new "$script" name)
third=$(TORCH=$work/minimum "$script" name)
[[ $first != "$second" && $second == 2.13.0-* && $third == 2.10.0-* ]] || { echo "FAILED: names $first, $second, $third"; failures=$((failures + 1)); }

# python3's torch that is of no use: Debian's, with the reason.
expect "python3's is too old" "LibTorch .*: Debian's .*the torch of the python3 on the PATH is version 2.9.1, which is too old: .*" FAKE_TORCH="$work/old" "$script"
expect "python3's is Debian's version" "/usr" FAKE_TORCH="$work/debian-like" "$script" root
expect "python3's needs CUDA" "LibTorch .*: Debian's .*was built for CUDA, and this machine has no CUDA toolkit \(nvcc\).*" FAKE_TORCH="$work/cuda" "$script"

# One sentence for each unusable choice.
expect "too old" "torch: the LibTorch in $work/old is version 2.9.1, which is too old: expected 2.10 or newer, or Debian's 1.13" TORCH="$work/old" "$script" root
expect "much too old" "torch: .* is version 1.12.1, which is too old: .*" TORCH="$work/ancient" "$script" name
expect "too old in CMAKE_PREFIX_PATH" "torch: the LibTorch in $work/old \(CMAKE_PREFIX_PATH\) is version 2.9.1, .*" CMAKE_PREFIX_PATH="$work/old" "$script" root
expect "another ABI" "torch: .*/abi was built for the compiler ABI before C\+\+11 \(_GLIBCXX_USE_CXX11_ABI=0\): expected .*" TORCH="$work/abi" "$script" root
expect "no CMake files" "torch: .*/bare has no CMake files \(share/cmake/Torch/TorchConfig.cmake\): expected .*" TORCH="$work/bare" "$script" root
expect "no LibTorch" "torch: TORCH=$work/empty: expected debian, pip, or a directory with LibTorch" TORCH="$work/empty" "$script" root
expect "CUDA" "torch: .*/cuda was built for CUDA, .*" TORCH="$work/cuda" "$script" root
! TORCH=$work/old "$script" root 2>/dev/null || { echo "FAILED: an unusable choice ended with 0"; failures=$((failures + 1)); }

# TORCH=pip: installed once, and again only over another version.
venv=$work/project/build/venv
expect "the name alone" "pip" TORCH=pip "$script" name
[ ! -e "$venv" ] || { echo "FAILED: the name made $venv"; failures=$((failures + 1)); }
expect "pip" "torch: installing torch 2.13.0 in build/venv.$venv/lib/python3.11/site-packages/torch" TORCH=pip "$script" root
expect "pip again" "LibTorch 2.13.0: $venv/lib/python3.11/site-packages/torch \(TORCH=pip\)" TORCH=pip "$script"
expect "build/venv is active" "pip" FAKE_TORCH="$venv/lib/python3.11/site-packages/torch" "$script" name
torch_at "$venv/lib/python3.11/site-packages/torch" 2.12.0
expect "pip, another version" "torch: installing .*" TORCH=pip "$script" root
[ "$(grep -c 'torch==2.13.0' "$venv/bin/calls")" = 2 ] || { echo "FAILED: pip was called $(cat "$venv/bin/calls")"; failures=$((failures + 1)); }

[ $failures -eq 0 ] || exit 1
echo "all choices are as expected"
