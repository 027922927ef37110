# Runs a program and fails unless it exits with 0 and its output matches: ctest's own PASS_REGULAR_EXPRESSION would ignore
# the exit code.   usage: cmake -DPROGRAM=FILE -DEXPECTED=REGEX -P Expect.cmake
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE status)
message("${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
if(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "the output of ${PROGRAM} does not match: ${EXPECTED}")
endif()
