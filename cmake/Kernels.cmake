# The sources of the rooms without LibTorch (kernels, plan), and how they are compiled: for lehi::kernels and for the Python
# package's operators.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH LEHI_LIB)
string(APPEND LEHI_LIB /src/lib)
file(GLOB LEHI_KERNEL_SOURCES CONFIGURE_DEPENDS ${LEHI_LIB}/kernels/*.cpp)
file(GLOB LEHI_PLAN_SOURCES CONFIGURE_DEPENDS ${LEHI_LIB}/plan/*.cpp)
list(APPEND LEHI_PLAN_SOURCES ${LEHI_LIB}/runtime/one_line.cpp)

# No errno and trap bookkeeping, which forbids vectorised loops; OpenMP without its threads, only `omp simd`. Results depend
# on these flags.
set(LEHI_KERNEL_FLAGS -fno-math-errno -fno-trapping-math -fopenmp-simd)

# The update of a weight must not depend on its position in a vector, hence on how weights are divided over threads and
# ranks: the compiler must not choose which of two products it fuses with an addition. The loop is limited by memory anyway.
# With a precompiled header g++ would ignore this option. Both properties apply wherever the files are compiled, but only in
# directories that include this file.
set_source_files_properties(${LEHI_KERNEL_SOURCES} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
set_source_files_properties(${LEHI_LIB}/kernels/update.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
