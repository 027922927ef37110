#include "study/study_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "files/files.h"
#include "study/toml_reader.h"

namespace lehi::study {
namespace {

using train::ConfigError;

constexpr std::uint64_t kLargestStudyFile = 1 << 20;

const std::vector<std::string> kKeys = {"optimizers", "rates",  "rates_of",   "seeds",
                                        "best",       "preset", "validation", "settings"};

/// Settings that a study file has keys of its own for.
const std::vector<std::string> kTakenSettings = {"task", "preset", "seed", "optimizer.name", "optimizer.lr"};

/// Reads the keys of a file or of one of its tasks into a request.
class Reader : public TomlReader {
 public:
  using TomlReader::TomlReader;

  void read(const toml::table& table, bool is_task, PlanRequest& request) const {
    for (const auto& [name, node] : table) {
      const std::string key(name.str());
      if (key == (is_task ? "name" : "task")) continue;
      if (key == "optimizers") {
        request.optimizers = list<std::string>(key, node, R"(a list of names, such as ["lehi", "adam"])");
      } else if (key == "rates") {
        request.rates = list<double>(key, node, "a list of numbers, such as [1e-3, 3e-3]");
      } else if (key == "rates_of") {
        read_rates_of(node, request);
      } else if (key == "seeds") {
        request.seeds = seeds(key, node);
      } else if (key == "best") {
        const auto best = value<std::int64_t>(key, node, "a whole number");
        if (best < 0) throw_at(node, fmt::format("best is {}, but must be at least 0 (0: a plain grid)", best));
        request.best = static_cast<std::size_t>(best);
      } else if (key == "preset") {
        request.preset = value<std::string>(key, node, "a quoted string");
      } else if (key == "validation") {
        value<double>(key, node, "a number");
        request.settings.push_back(setting("data.validation", node));
      } else if (key == "settings") {
        read_settings(node, kTakenSettings, request.settings);
      } else {
        auto known = kKeys;
        known.emplace_back(is_task ? "name" : "task");
        throw_unknown_key(node, key, known);
      }
    }
  }

 private:
  void read_rates_of(const toml::node& node, PlanRequest& request) const {
    const auto* table = node.as_table();
    if (table == nullptr) throw_at(node, "rates_of must be a table, such as rates_of.lehi = [1e-3, 3e-3]");
    for (const auto& [optimizer, rates] : *table) {
      const std::string name(optimizer.str());
      request.rates_of[name] = list<double>("rates_of." + name, rates, "a list of numbers, such as [1e-3, 3e-3]");
    }
  }
};

}  // namespace

std::vector<PlanRequest> parse_study_file(std::string_view text, const std::string& where) {
  const auto table = train::parse_toml(text, where);
  const Reader reader(where);
  PlanRequest common;
  common.optimizers = default_optimizers();
  common.seeds = {0};
  common.default_rates = Rates::grid;
  reader.read(table, false, common);
  const auto* node = table.get("task");
  const auto* tasks = node != nullptr ? node->as_array() : nullptr;
  if (tasks == nullptr || tasks->empty()) {
    throw ConfigError(fmt::format("{} names no task: add a table for each task, [[task]] with name = \"...\"", where));
  }
  std::vector<PlanRequest> requests;
  for (const auto& entry : *tasks) {
    const auto* task = entry.as_table();
    if (task == nullptr) reader.throw_at(entry, "task must be a table; write [[task]] with name = \"...\" below it");
    const auto* name = task->get("name");
    if (name == nullptr) reader.throw_at(entry, "the task has no name; add name = \"...\"");
    auto request = common;
    request.tasks = {reader.value<std::string>("name", *name, "a quoted string")};
    request.origin = {where, static_cast<std::int64_t>(entry.source().begin.line)};
    const bool own_optimizers = task->contains("optimizers");
    if (task->contains("rates")) request.rates_of.clear();  // the task's own rates replace all defaults
    reader.read(*task, true, request);
    // The defaults may have rates for an optimizer that this task does not train.
    if (own_optimizers) {
      std::erase_if(request.rates_of, [&](const auto& rates) {
        const auto& own = request.optimizers;
        return common.rates_of.count(rates.first) != 0 && std::find(own.begin(), own.end(), rates.first) == own.end();
      });
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<PlanRequest> read_study_file(const std::filesystem::path& file) {
  return parse_study_file(read_text(file, kLargestStudyFile), file.string());
}

const std::vector<std::string>& default_optimizers() {
  static const std::vector<std::string> names = {"lehi", "lehibrid", "adam", "adamw"};
  return names;
}

}  // namespace lehi::study
