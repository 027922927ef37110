// The library's version; CMakeLists.txt reads it from here.
#pragma once

#define LEHI_VERSION "0.1.0"  // NOLINT(cppcoreguidelines-macro-usage): usable by the preprocessor
