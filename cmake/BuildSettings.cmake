# How everything here is compiled: C++20, warnings as errors, ccache and mold where the machine has them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(LEHI_CCACHE ccache)
if(LEHI_CCACHE)
  # Without this sloppiness ccache never hits with precompiled headers; without relative paths it would not hit in a
  # second checkout or build directory.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LEHI_CCACHE})
endif()
find_program(LEHI_MOLD mold)
if(LEHI_MOLD)
  # mold 1.10 may begin the part that becomes read-only in the page before it, where nothing is mapped; the program then
  # does not start ("cannot apply additional memory protection"). Whether it does depends on sizes alone: seen once.
  add_link_options(-fuse-ld=mold -Wl,-z,norelro)
endif()

if(LEHI_SANITIZE)
  add_compile_options(-fsanitize=${LEHI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LEHI_SANITIZE})
endif()

# Ours only: flags that must not reach a user of the installed package.
add_library(lehi_warnings INTERFACE)
target_compile_options(lehi_warnings INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Werror
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess -Wno-error=maybe-uninitialized -Wno-psabi>)

if(LEHI_SANITIZE STREQUAL "thread")
  # g++ says that the sanitizer does not know the fences in Asio's headers.
  target_compile_options(lehi_warnings INTERFACE -Wno-tsan)
endif()

# What decides whether a precompiled header fits: all of ours is compiled with these, hot loops or not.
#   OpenMP    at::parallel_for is a template of LibTorch's headers that runs on one thread unless it is compiled with it
#   the rest  no errno and trap bookkeeping, which forbids vectorised loops; results stay IEEE
if(NOT LEHI_FUZZ)  # whose clang has no OpenMP, and which borrows no header
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
add_library(lehi_compile_flags INTERFACE)
target_compile_options(lehi_compile_flags INTERFACE -fPIC -fno-math-errno -fno-trapping-math ${OpenMP_CXX_FLAGS})
# g++ collects its garbage again and again below this many KB: a tenth of its time, for a tenth of its memory.
target_compile_options(lehi_compile_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)

# LibTorch's headers cost more than all of our code, so they are precompiled three times: for the library and all hot loops
# (-O3), for the program's other code (-O1), and for the tests (-O0: their time is the compiler's, not their own). A target that
# borrows one must be compiled with the same flags, executables (-fPIE by default) included: g++ takes the options of
# optimization from the header, whatever the command line says, or crashes.
function(lehi_compile_like_the_library target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lehi_warnings> $<BUILD_INTERFACE:lehi_compile_flags>)
endfunction()
function(lehi_borrow_precompiled_header target owner)
  lehi_compile_like_the_library(${target})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
function(lehi_optimize target level)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE ${level})
  endif()
endfunction()
