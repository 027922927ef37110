# What a person types here; CMake does the building. `make demo` and `make test` do all of the set-up on a fresh Debian 12.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup build build-times demo test test-kernels test-web format check-format tidy sanitize sanitize-memory sanitize-threads leaks fuzz faults \
        soak install clean

JOBS ?= $(shell scripts/jobs)
PREFIX ?= /usr/local
ours := '*.h' '*.cpp'

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:  ## install the Debian packages that are missing
	@scripts/setup

# Ninja runs CMake again by itself when a list file changes, so configuring once is enough.
build/%/build.ninja: CMakePresets.json | setup
	cmake --preset $*

build/tsan/build.ninja: CMakePresets.json | setup
	@scripts/setup libomp-14-dev
	cmake --preset tsan

build: build/release/build.ninja  ## the library, the program at build/release/lehi, the tests and the examples
	cmake --build --preset release --parallel $(JOBS)

build-times: setup  ## build everything from nothing, without ccache: how long, and the slowest twenty units
	scripts/build-times $(JOBS)

demo: build/release/build.ninja  ## compare six optimizers on Fashion-MNIST, three seeds each, in about three minutes
	cmake --build --preset release --parallel $(JOBS) --target lehi_program
	build/release/lehi compare fashion-mnist --seeds 0,1,2

# The tests of studies on a cluster start a Slurm and an mpirun of their own; without them they are skipped, and the last
# lines say so.
test: check-format build  ## formatting, then every fast test
	@scripts/setup slurm-wlm 'openmpi-bin mpirun' || echo "make: without these packages tests are skipped: see the end" >&2
	scripts/test release --label-regex fast --parallel $(JOBS)

test-kernels: build  ## the tests that other processors may decide: OpenBLAS's kernels one by one, our loops for older ones
	cmake --build --preset release --parallel $(JOBS) --target lehi_level_tests
	scripts/test-kernels release --parallel $(JOBS)

test-web: build/release/build.ninja  ## the report page in Chromium, with a report of the program itself
	cmake --build --preset release --parallel $(JOBS) --target lehi_program
	scripts/web-test build/release/lehi

sanitize: sanitize-memory sanitize-threads  ## the fast tests under the sanitizers

sanitize-memory: build/asan/build.ninja  ## the fast tests under the address, leak and undefined-behaviour sanitizers
	cmake --build --preset asan --parallel $(JOBS)
	scripts/test asan --label-regex fast --parallel $(JOBS)

# Where there are threads of ours: the kernels' loops, ranks, servers, writers, studies.
threaded := kernels ops loss layers model optim files distributed serve study train

sanitize-threads: build/tsan/build.ninja  ## the tests of what has threads under the thread sanitizer
	cmake --build --preset tsan --parallel $(JOBS) --target lehi_races $(threaded:%=lehi_%_tests)
	scripts/test tsan --parallel $(JOBS) --tests-regex '^(races_.*|$(subst $() ,|,$(strip $(threaded))))$$'

leaks: build/release/build.ninja  ## every small preset, trained to its end under the leak sanitizer
	cmake --build --preset release --parallel $(JOBS) --target lehi_program
	scripts/leaks build/release/lehi

fuzz:  ## every reader of files under libFuzzer, FUZZ_SECONDS each (10); the corpus is in fuzz/
	@scripts/setup clang-16 libclang-rt-16-dev libstdc++-11-dev
	@$(MAKE) --no-print-directory build/fuzz/build.ninja
	cmake --build --preset fuzz --parallel $(JOBS)
	scripts/fuzz

faults: build/release/build.ninja  ## every file operation of a run and of a sweep failed or killed in turn: an hour
	cmake --build --preset release --parallel $(JOBS) --target lehi_faults_tests
	scripts/test release --tests-regex '^all_faults$$'

SOAK_SECONDS ?= 3600
SOAK_SEED ?= 8
soak: build/release/build.ninja  ## train for SOAK_SECONDS (3600) with random kills, faults and resumes: a table of what was lost
	cmake --build --preset release --parallel $(JOBS) --target lehi_soak
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive build/release/tests/lehi_soak $(SOAK_SECONDS) $(SOAK_SEED) $(DATA_DIR)

format: setup  ## rewrite the sources in the project's format
	git ls-files -z -- $(ours) | xargs -0 clang-format -i

check-format: setup
	git ls-files -z -- $(ours) | xargs -0 clang-format --dry-run -Werror

tidy:  ## clang-tidy over every source
	@scripts/setup clang-tidy libc++-dev
	scripts/tidy $(JOBS)

install: build  ## into PREFIX, by default /usr/local
	cmake --install build/release --prefix $(PREFIX)

clean:  ## remove everything that was built
	rm -rf build
