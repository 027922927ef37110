// main() of the tests: the program's own startup (threads, BLAS kernel, allocator), then GoogleTest.
#include <gmock/gmock.h>

#include "base/startup.h"

int main(int argc, char** argv) {
  lehi::base::prepare(argc, argv);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
