#include "cli/serve.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>

#include "base/signals.h"
#include "cli/arguments.h"

namespace lehi::cli {

ServeConfig parse_serve(const Arguments& arguments) {
  ServeConfig config;
  config.title = "Studies";
  config.server.port = 8000;
  CLI::App app("Shows the report of studies as a live page, also while they run. Ctrl-C ends it.", "lehi serve");
  app.add_option("directories", config.directories, "directories of `lehi compare` or `lehi sweep`")->required();
  app.add_option("--port", config.server.port, "0: any that is free")->capture_default_str();
  app.add_option("--host", config.server.host, "the address to listen on; 0.0.0.0: all, for other machines too")
      ->capture_default_str();
  app.add_option("--allow-host", config.server.allow_hosts,
                 "HOST:PORT that the browser shows, where that is another: a forwarded port, a proxy; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--title", config.title, "the page's heading")->capture_default_str();
  app.footer(
      "Examples:\n"
      "  lehi serve runs/protein\n"
      "  lehi serve runs/protein runs/mnist --port 0\n"
      "  ssh -L 9000:localhost:8000 lab, there `lehi serve runs/protein --allow-host localhost:9000`");
  parse_arguments(app, arguments);
  std::set<std::string> seen;
  for (const auto& directory : config.directories) {
    if (!seen.insert(directory).second) throw UsageError(fmt::format("{} is named twice.", directory));
  }
  return config;
}

int run_serve(const ServeConfig& config, std::ostream& out, std::ostream& err) {
  for (const auto& directory : config.directories) {
    if (!std::filesystem::is_directory(directory)) {
      throw InputError(
          fmt::format("{} is no directory; expected one that `lehi compare` or `lehi sweep` writes to", directory));
    }
  }
  const base::SignalWatch signals;
  try {
    serve::Server server(serve_content(config), config.server);
    if (!server.is_loopback()) {
      err << fmt::format(
          "lehi: warning: whoever reaches port {} of this machine can read these studies; --host 127.0.0.1 keeps them "
          "to this machine\n",
          server.port());
    }
    out << server.url() << std::endl;  // at once: somebody may wait for it at the other end of a pipe
    server.run([&signals] { return signals.received() != 0; });
  } catch (const serve::ServeError& error) {
    throw UsageError(error.what());
  }
  return 128 + signals.received();
}

}  // namespace lehi::cli
