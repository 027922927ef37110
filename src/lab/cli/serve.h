// `lehi serve`: serves the report of studies as a live web page, also while they run.
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

/// The page and its data, read from the directories at every request.
serve::Content serve_content(const ServeConfig& config);

/// Serves until SIGINT or SIGTERM. Returns 128 plus the signal's number.
int run_serve(const ServeConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
