# Installs lehi into the build directory, then builds the project of this directory against it and runs it.
#   usage: cmake -DBUILD=DIR -DSOURCE=DIR -DVERSION=X.Y.Z -DCOMPILER=FILE -P run.cmake
set(stage ${BUILD}/package)
file(REMOVE_RECURSE ${stage})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage}/prefix
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${stage}/build -Wno-dev -DCMAKE_BUILD_TYPE=Release
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${stage}/prefix
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${stage}/build COMMAND_ERROR_IS_FATAL ANY)

set(PROGRAM ${stage}/build/outsider)
string(REPLACE "." "\\." version "${VERSION}")
set(EXPECTED "^lehi ${version}: loss 0\\.500, w 0\\.100\n$")
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/Expect.cmake)
