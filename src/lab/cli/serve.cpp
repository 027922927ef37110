#include "cli/serve.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "base/signals.h"
#include "cli/arguments.h"

namespace lehi::cli {

ServeConfig parse_serve(const Arguments& arguments) {
  ServeConfig config;
  config.title = "Studies";
  config.server.port = 8000;
  CLI::App app("Serve the report of studies as a live web page, also while they run. Stop it with Ctrl-C.",
               "lehi serve");
  app.add_option("DIR", config.directories, "directories written by `lehi compare` or `lehi sweep`")->required();
  app.add_option("--port", config.server.port, "port to listen on; 0 takes any free one")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option("--host", config.server.host, "address to listen on; 0.0.0.0 lets other machines connect")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--allow-host", config.server.allow_hosts,
                 "also accept requests to this host and port, as the browser's address bar shows them behind a "
                 "forwarded port or a proxy; may be repeated")
      ->type_name("HOST")
      ->allow_extra_args(false);
  app.add_option("--title", config.title, "title of the page")->type_name("TITLE")->capture_default_str();
  app.footer(
      "Examples:\n"
      "  lehi serve runs/protein\n"
      "  lehi serve runs/protein runs/mnist --port 0\n"
      "  ssh -t -L 9000:localhost:8000 lab lehi serve runs/protein --allow-host localhost:9000");
  parse_arguments(app, arguments);
  check_all_different(config.directories);
  return config;
}

int run_serve(const ServeConfig& config, std::ostream& out, std::ostream& err) {
  for (const auto& directory : config.directories) {
    if (!std::filesystem::is_directory(directory)) {
      throw InputError(
          fmt::format("{} is not a directory; expected a directory of `lehi compare` or `lehi sweep`", directory));
    }
  }
  const base::SignalWatch signals;
  try {
    serve::Server server(serve_content(config), config.server);
    if (!server.is_loopback()) {
      err << fmt::format(
          "lehi: warning: other machines can read these studies through port {}; --host 127.0.0.1 allows this machine "
          "only\n",
          server.port());
    }
    out << server.url() << '\n' << std::flush;  // a process at the other end of a pipe may be waiting for it
    server.run([&signals] { return signals.received() != 0; });
  } catch (const serve::ServeError& error) {
    throw UsageError(error.what());
  }
  return 128 + signals.received();
}

}  // namespace lehi::cli
