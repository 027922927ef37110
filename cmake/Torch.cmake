# LibTorch: the target `torch`, and `lehi_gloo` for c10d's process groups. Which one is scripts/torch's rule; a build directory
# keeps its LibTorch.
set(LEHI_TORCH "" CACHE STRING "LibTorch: debian, pip or a directory; empty: the rule of scripts/torch")
if(LEHI_TORCH OR NOT LEHI_TORCH_ROOT)
  set(choice $ENV{TORCH})
  if(LEHI_TORCH)
    set(choice ${LEHI_TORCH})
  endif()
  string(JOIN ":" prefixes ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH})
  set(rule ${CMAKE_COMMAND} -E env TORCH=${choice} CMAKE_PREFIX_PATH=${prefixes} ${PROJECT_SOURCE_DIR}/scripts/torch)
  foreach(what root sentence)
    execute_process(COMMAND ${rule} ${what} OUTPUT_VARIABLE ${what} ERROR_VARIABLE error RESULT_VARIABLE status
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${error}")
    endif()
  endforeach()
  if(LEHI_TORCH_ROOT AND NOT LEHI_TORCH_ROOT STREQUAL root)
    message(FATAL_ERROR "This build directory has the LibTorch in ${LEHI_TORCH_ROOT}: take another one (-B) for ${root}.")
  endif()
  set(LEHI_TORCH_ROOT ${root} CACHE INTERNAL "The directory with LibTorch's include/ and lib/")
  message(STATUS "${sentence}")
endif()
# First, because TorchConfig.cmake looks for its parts like for any library, and Debian's may be installed as well.
list(PREPEND CMAKE_PREFIX_PATH ${LEHI_TORCH_ROOT})
set(kineto_LIBRARY ${LEHI_TORCH_ROOT}/lib/libtorch_cpu.so)  # contains it; otherwise TorchConfig.cmake warns
find_package(Torch REQUIRED)

if(NOT LEHI_TORCH_ROOT STREQUAL "/usr")
  # An installed program finds LibTorch where it was when it was built.
  set(CMAKE_INSTALL_RPATH ${LEHI_TORCH_ROOT}/lib)
endif()

# LibTorch's own builds bring the headers, but not the library, of another version of fmt. Ours come first.
find_package(fmt REQUIRED)
if(EXISTS ${LEHI_TORCH_ROOT}/include/fmt AND NOT LEHI_TORCH_ROOT STREQUAL "/usr")
  get_target_property(directory fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fmt)
  file(CREATE_LINK ${directory}/fmt ${PROJECT_BINARY_DIR}/fmt/fmt SYMBOLIC)
  include_directories(BEFORE SYSTEM ${PROJECT_BINARY_DIR}/fmt)
endif()

# c10d's process groups are in LibTorch. Gloo, which they use, is a package of its own in Debian. LibTorch's own builds contain
# it, but not its headers: src/lab/distributed/gloo_declarations.h stands in for them.
add_library(lehi_gloo INTERFACE)
if(EXISTS ${LEHI_TORCH_ROOT}/include/gloo/context.h)
  find_library(LEHI_GLOO gloo REQUIRED)
  target_link_libraries(lehi_gloo INTERFACE ${LEHI_GLOO})
else()
  foreach(header algorithm context common/error rendezvous/store transport/device)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gloo/gloo/${header}.h CONTENT "#include \"distributed/gloo_declarations.h\"\n")
  endforeach()
  target_include_directories(lehi_gloo SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/gloo)
endif()
