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
  # Precompiled headers need these; without them ccache never hits.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LEHI_CCACHE})
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
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Werror
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess -Wno-error=maybe-uninitialized -Wno-psabi>)
