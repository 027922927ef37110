// Checks XML with Python's parser.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lehi::plot {

inline bool has_python() {
  static const bool found = std::system("python3 --version > /dev/null 2>&1") == 0;
  return found;
}

/// "" if Python's XML parser (expat) accepts the text, else its error message. Needs has_python().
inline std::string xml_error(const std::string& text) {
  auto name = ::testing::TempDir() + "lehi-well-formed-XXXXXX";
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return "no temporary file";
  std::FILE* file = ::fdopen(descriptor, "w");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  const auto command =
      "python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' '" + name + "' 2>&1 | tail -n 1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string message;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) message += static_cast<char>(c);
  ::pclose(pipe);
  std::remove(name.c_str());
  return message;
}

}  // namespace lehi::plot
