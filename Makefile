# Short commands around CMake. `make demo` and `make test` also install the packages that they need, on a fresh Debian 12.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup build build-times demo test test-kernels test-python test-web format check-format tidy sanitize sanitize-memory sanitize-threads leaks fuzz faults \
        soak install clean

JOBS ?= $(shell scripts/jobs)
PREFIX ?= /usr/local
# Which LibTorch: TORCH=debian, TORCH=pip or TORCH=DIRECTORY, else the rule of scripts/torch. Each has its own build
# directories: build/release for Debian's, build/release-pip, ...
export TORCH
torch := $(shell TORCH='$(TORCH)' scripts/torch name)
$(if $(torch),,$(error no usable LibTorch was chosen))
other := $(patsubst %,-%,$(filter-out debian,$(torch)))
release := build/release$(other)
ours := '*.h' '*.cpp'

help:  ## print this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup:  ## install missing Debian packages
	@scripts/setup

# Configured once: Ninja runs CMake again when a list file changes.
build/%$(other)/build.ninja: CMakePresets.json | setup
	cmake --preset $* -B $(@D) -D LEHI_TORCH="$$(scripts/torch root)"

build/tsan$(other)/build.ninja: CMakePresets.json | setup
	@scripts/setup libomp-14-dev
	cmake --preset tsan -B $(@D) -D LEHI_TORCH="$$(scripts/torch root)"

build: $(release)/build.ninja  ## build the library, the program build/release/lehi, the tests and the examples
	@scripts/torch
	cmake --build $(release) --parallel $(JOBS)

build-times: setup  ## build from scratch without ccache; print the time and the twenty slowest units
	scripts/build-times $(JOBS)

demo: $(release)/build.ninja  ## compare six optimizers on Fashion-MNIST with three seeds, in about three minutes
	@scripts/torch
	cmake --build $(release) --parallel $(JOBS) --target lehi_program
	$(release)/lehi compare fashion-mnist --seeds 0,1,2

# The tests of studies on a cluster start their own Slurm and mpirun. Without these packages they are skipped and listed at
# the end.
test: check-format build  ## check the formatting and run the fast tests
	@scripts/setup slurm-wlm 'openmpi-bin mpirun' || echo "make: without these packages some tests are skipped; see the list at the end" >&2
	scripts/test $(release) --label-regex fast --parallel $(JOBS)

test-kernels: build  ## run the processor-dependent tests with every OpenBLAS kernel and older instruction sets
	cmake --build $(release) --parallel $(JOBS) --target lehi_level_tests
	scripts/test-kernels $(release) --parallel $(JOBS)

test-python:  ## install the Python package in build/venv and test it there; `make test` does this, too
	scripts/test-python

test-web: $(release)/build.ninja  ## test the report page in Chromium
	cmake --build $(release) --parallel $(JOBS) --target lehi_program
	scripts/web-test $(release)/lehi

sanitize: sanitize-memory sanitize-threads  ## run the fast tests under the sanitizers

sanitize-memory: build/asan$(other)/build.ninja  ## run the fast tests under the address, leak and undefined-behaviour sanitizers
	cmake --build build/asan$(other) --parallel $(JOBS)
	scripts/test build/asan$(other) --label-regex fast --parallel $(JOBS)

# The rooms that use threads.
threaded := kernels ops loss layers model optim files distributed serve study train

sanitize-threads: build/tsan$(other)/build.ninja  ## run the tests of multi-threaded code under the thread sanitizer
	cmake --build build/tsan$(other) --parallel $(JOBS) --target lehi_races $(threaded:%=lehi_%_tests)
	scripts/test build/tsan$(other) --parallel $(JOBS) --tests-regex '^(races_.*|$(subst $() ,|,$(strip $(threaded))))$$'

leaks: $(release)/build.ninja  ## train every small preset under the leak sanitizer
	cmake --build $(release) --parallel $(JOBS) --target lehi_program
	scripts/leaks $(release)/lehi

fuzz:  ## run libFuzzer on every file reader, FUZZ_SECONDS (10) each; the corpus is in fuzz/
	@scripts/setup clang-16 libclang-rt-16-dev libstdc++-11-dev
	@$(MAKE) --no-print-directory TORCH=debian build/fuzz/build.ninja
	cmake --build --preset fuzz --parallel $(JOBS)
	scripts/fuzz

faults: $(release)/build.ninja  ## make each file operation of a run and of a sweep fail or kill the process; takes an hour
	cmake --build $(release) --parallel $(JOBS) --target lehi_faults_tests
	scripts/test $(release) --tests-regex '^all_faults$$'

SOAK_SECONDS ?= 3600
SOAK_SEED ?= 8
soak: $(release)/build.ninja  ## train for SOAK_SECONDS (3600) with random kills, faults and resumes; print the losses
	cmake --build $(release) --parallel $(JOBS) --target lehi_soak
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(release)/tests/lehi_soak $(SOAK_SECONDS) $(SOAK_SEED) $(DATA_DIR)

format: setup  ## format the sources with clang-format
	git ls-files -z -- $(ours) | xargs -0 clang-format -i

check-format: setup  ## check the formatting
	git ls-files -z -- $(ours) | xargs -0 clang-format --dry-run -Werror

tidy:  ## run clang-tidy on every source
	@scripts/setup clang-tidy libc++-dev
	scripts/tidy $(JOBS)

install: build  ## install to PREFIX (/usr/local)
	cmake --install $(release) --prefix $(PREFIX)

clean:  ## remove build/
	rm -rf build
