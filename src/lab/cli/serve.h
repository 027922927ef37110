// `lehi serve`: the report of studies as a live page, also while they run.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"
#include "serve/server.h"

namespace lehi::cli {

struct ServeConfig {
  std::vector<std::string> directories;
  std::string title;
  serve::Settings server;
};

ServeConfig parse_serve(const Arguments& arguments);

/// What the server shows, read anew from the directories at every call.
serve::Content serve_content(const ServeConfig& config);

/// Until SIGINT or SIGTERM; returns 128 and the signal.
int run_serve(const ServeConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
