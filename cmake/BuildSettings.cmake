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
  add_link_options(-fuse-ld=mold)
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

# One precompiled header for everything: LibTorch's headers cost more than all of our code. It belongs to the library's
# target; a target that borrows it must be compiled with the same flags, executables (-fPIE by default) included.
function(lehi_borrow_precompiled_header target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_link_libraries(${target} PRIVATE lehi_warnings)
  target_precompile_headers(${target} REUSE_FROM lehi)
endfunction()
