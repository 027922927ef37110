// The content that `lehi serve` serves. In a file of its own, so that serve.cpp includes no reports and this one no
// sockets.
#include "cli/serve.h"
#include "report/page.h"

namespace lehi::cli {
namespace {

nlohmann::ordered_json served_data(const ServeConfig& config) {
  std::vector<std::string> command = {"lehi", "serve"};
  command.insert(command.end(), config.directories.begin(), config.directories.end());
  return report::page_data(report::read_studies(config.directories), {.title = config.title, .command_line = command},
                           /*live=*/true);
}

}  // namespace

serve::Content serve_content(const ServeConfig& config) {
  return {.page = [config = config] { return report::page_html(served_data(config)); },
          .data = [config = config] { return report::page_json(served_data(config)); }};
}

}  // namespace lehi::cli
