// main() of the tests: starts up like the program, then runs GoogleTest.
#include <gmock/gmock.h>

#include "base/startup.h"

int main(int argc, char** argv) {
  lehi::base::prepare(argc, argv);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
