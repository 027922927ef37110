#include "study/study_toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/nearest.h"
#include "files/files.h"
#include "train/toml_file.h"

namespace lehi::study {
namespace {

using train::ConfigError;

constexpr std::uint64_t kLargestStudyFile = 1 << 20;

const std::vector<std::string> kKeys = {"optimizers", "rates",  "rates_of",   "seeds",
                                        "best",       "preset", "validation", "settings"};

/// Reads the keys of a file or of one of its tasks into a request.
class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  [[noreturn]] void throw_at(const toml::node& node, const std::string& what) const {
    throw ConfigError(fmt::format("{}, line {}: {}", where_, node.source().begin.line, what));
  }

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
        request.seeds.clear();
        for (const auto seed : list<std::int64_t>(key, node, "a list of whole numbers, such as [0, 1, 2]")) {
          if (seed < 0 || seed > 4294967295) {
            throw_at(node, fmt::format("the seed {} is not in 0 to 4294967295", seed));
          }
          request.seeds.push_back(static_cast<std::uint64_t>(seed));
        }
      } else if (key == "best") {
        const auto best = value<std::int64_t>(key, node, "a whole number");
        if (best < 0) throw_at(node, fmt::format("best is {}, but must be at least 0 (0: a plain grid)", best));
        request.best = static_cast<std::size_t>(best);
      } else if (key == "preset") {
        request.preset = value<std::string>(key, node, "a quoted string");
      } else if (key == "validation") {
        value<double>(key, node, "a number");
        add_setting("data.validation", node, request);
      } else if (key == "settings") {
        if (!node.is_table()) throw_at(node, "settings must be a table, such as settings.train.epochs = 5");
        read_settings(*node.as_table(), "", request);
      } else {
        auto known = kKeys;
        known.emplace_back(is_task ? "name" : "task");
        throw_at(node, fmt::format("there is no key '{}'{}; there are {}", key, base::suggestion(key, known),
                                   fmt::join(known, ", ")));
      }
    }
  }

  template <class T>
  T value(const std::string& key, const toml::node& node, std::string_view expected) const {
    const auto found = exact<T>(node);
    if (!found) throw_at(node, fmt::format("{} is {}, but must be {}", key, train::shown_toml(node), expected));
    return *found;
  }

 private:
  template <class T>
  static std::optional<T> exact(const toml::node& node) {
    if constexpr (std::is_same_v<T, double>) {  // integers are valid numbers
      const auto number = node.is_number() ? node.value<double>() : std::nullopt;
      return number && std::isfinite(*number) ? number : std::nullopt;
    } else {
      return node.value_exact<T>();
    }
  }

  template <class T>
  std::vector<T> list(const std::string& key, const toml::node& node, std::string_view expected) const {
    const auto* nodes = node.as_array();
    if (nodes == nullptr || nodes->empty()) {
      throw_at(node, fmt::format("{} is {}, but must be {}", key, train::shown_toml(node), expected));
    }
    std::vector<T> values;
    for (const auto& entry : *nodes) values.push_back(value<T>(key, entry, fmt::format("in {}", expected)));
    return values;
  }

  void read_rates_of(const toml::node& node, PlanRequest& request) const {
    const auto* table = node.as_table();
    if (table == nullptr) throw_at(node, "rates_of must be a table, such as rates_of.lehi = [1e-3, 3e-3]");
    for (const auto& [optimizer, rates] : *table) {
      const std::string name(optimizer.str());
      request.rates_of[name] = list<double>("rates_of." + name, rates, "a list of numbers, such as [1e-3, 3e-3]");
    }
  }

  // train::resolve() checks key and value later.
  void add_setting(const std::string& key, const toml::node& node, PlanRequest& request) const {
    const auto source = fmt::format("{}, line {}", where_, node.source().begin.line);
    request.settings.push_back({key, train::toml_text(node), source});
  }

  void read_settings(const toml::table& table, const std::string& prefix, PlanRequest& request) const {
    for (const auto& [name, node] : table) {
      const auto key = prefix + std::string(name.str());
      if (key == "task" || key == "preset" || key == "seed" || key == "optimizer.name" || key == "optimizer.lr") {
        throw_at(node, fmt::format("settings.{} is not allowed: a study file has a key of its own for it", key));
      }
      if (const auto* inner = node.as_table()) {
        read_settings(*inner, key + ".", request);
      } else {
        add_setting(key, node, request);
      }
    }
  }

  std::string where_;
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
