// The library's version, as in the CMake project and CHANGELOG.md.
#pragma once

#define LEHI_VERSION "0.1.0"  // NOLINT(cppcoreguidelines-macro-usage): usable by the preprocessor
