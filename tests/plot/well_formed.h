// XML that a parser of somebody else accepts.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lehi::plot {

inline bool has_python() {
  static const bool there = std::system("python3 --version > /dev/null 2>&1") == 0;
  return there;
}

/// "" when Python's XML parser (expat) accepts the text, else what it says. Use only where has_python().
inline std::string xml_complaint(const std::string& text) {
  auto name = ::testing::TempDir() + "lehi-well-formed-XXXXXX";
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return "no temporary file";
  std::FILE* file = ::fdopen(descriptor, "w");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  const auto command =
      "python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' '" + name + "' 2>&1 | tail -n 1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  ::pclose(pipe);
  std::remove(name.c_str());
  return said;
}

}  // namespace lehi::plot
