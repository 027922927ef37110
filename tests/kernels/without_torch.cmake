# lehi::kernels must need no LibTorch: neither the libraries that the test program loads nor an include may name it.
#   usage: cmake -DPROGRAM=FILE -DLIBRARY=src/lib -P without_torch.cmake
execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "libtorch|libc10")
  message(FATAL_ERROR "${PROGRAM} loads LibTorch:\n${libraries}")
endif()
file(GLOB sources ${LIBRARY}/kernels/* ${LIBRARY}/plan/* ${LIBRARY}/../../include/lehi/probe.h
     ${LIBRARY}/../../include/lehi/recipe.h)
foreach(source IN LISTS sources)
  file(STRINGS ${source} includes REGEX "#include <(torch|ATen|c10)/")
  if(includes)
    message(FATAL_ERROR "${source} includes LibTorch: ${includes}")
  endif()
endforeach()
