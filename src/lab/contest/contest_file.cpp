#include "contest/contest_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/nearest.h"
#include "contest/contest_reader.h"
#include "files/files.h"
#include "runtime/message.h"
#include "train/embedded.h"

namespace lehi::contest {
namespace {

constexpr std::uint64_t kLargestContestFile = 1 << 20;
constexpr std::string_view kFolder = "contest/";
constexpr std::string_view kEnding = ".toml";

template <typename Spec>
std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  names.reserve(specs.size());
  for (const auto& spec : specs) names.push_back(spec.name);
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_known(const std::string& what, const std::vector<std::string>& names,
                 const std::vector<std::string>& known) {
  for (const auto& name : names) {
    if (has(known, name)) continue;
    throw_invalid_argument("the contest has no {} '{}'{}; there are {}", what, name, base::suggestion(name, known),
                           fmt::join(known, ", "));
  }
}

/// The tables of a list of tables; ConfigError when there is none.
std::vector<const toml::table*> tables_of(const ContestReader& reader, const toml::table& file, const char* key) {
  const auto* node = file.get(key);
  const auto* entries = node != nullptr ? node->as_array() : nullptr;
  if (entries == nullptr || entries->empty()) {
    throw train::ConfigError(
        fmt::format("{} names no {}: add a table for each, [[{}]] with name = \"...\"", reader.where(), key, key));
  }
  std::vector<const toml::table*> tables;
  for (const auto& entry : *entries) {
    if (!entry.is_table()) {
      reader.throw_at(entry, fmt::format("{} must be a table; write [[{}]] with name = \"...\" below it", key, key));
    }
    if (!entry.as_table()->contains("name")) {
      reader.throw_at(entry, fmt::format("the {} has no name; add name = \"...\"", key));
    }
    tables.push_back(entry.as_table());
  }
  return tables;
}

// What can only be checked when all keys of a task, and the arms, are read.
void check_task(const Contest& contest, const TaskSpec& task) {
  const auto known = names_of(contest.arms);
  check_known("arm", task.arms, known);
  check_known("arm", task.speed_up, known);
  if (task.task.empty()) throw_invalid_argument("{} needs a task: task = \"protein\"", task.name);
  if (task.steps == 0) throw_invalid_argument("{} needs the baseline's steps: steps = 800", task.name);
  if (task.tuning_seeds.empty()) throw_invalid_argument("{} needs tuning_seeds", task.name);
  if (task.seeds.size() < 2) throw_invalid_argument("{} needs at least two seeds for its verdict", task.name);
  std::set<std::uint64_t> seen;
  for (const auto& seeds : {task.tuning_seeds, task.seeds}) {
    for (const auto seed : seeds) {
      if (seen.insert(seed).second) continue;
      throw_invalid_argument("{} lists the seed {} twice; the verdict's seeds must be fresh ones", task.name, seed);
    }
  }
  if (task.speed_up_seeds > task.seeds.size()) {
    throw_invalid_argument("{} has speed_up_seeds = {}, but only {} seeds", task.name, task.speed_up_seeds,
                           task.seeds.size());
  }
  if (!has(task.arms, contest.baseline)) {
    throw_invalid_argument("the arms of {} lack the baseline {}", task.name, contest.baseline);
  }
  for (const auto& name : task.arms) {
    if (task.rates_of.at(name).empty()) throw_invalid_argument("{} has no rates for {}", task.name, name);
  }
}

// Arms in the file's order, and each with its rates: rates_of of the task, else rates of the task, else its own. Its
// optimizer: replace of the task, else its own.
void complete_task(const Contest& contest, const std::vector<double>& rates, TaskSpec& task) {
  const auto known = names_of(contest.arms);
  std::vector<std::string> given;
  for (const auto& [name, list] : task.rates_of) given.push_back(name);
  for (const auto& [name, optimizer] : task.optimizer_of) given.push_back(name);
  check_known("arm", given, known);
  check_known("arm", task.arms, known);
  const auto wanted = task.arms;
  task.arms.clear();
  for (const auto& arm : contest.arms) {
    if (!wanted.empty() && !has(wanted, arm.name)) continue;
    task.arms.push_back(arm.name);
    task.rates_of.try_emplace(arm.name, rates.empty() ? arm.rates : rates);
    task.optimizer_of.try_emplace(arm.name, arm.optimizer);
  }
  if (task.speed_steps == 0) task.speed_steps = task.steps;
  if (task.speed_up.empty()) {
    for (const auto& arm : contest.arms) {
      if (!arm.control && arm.name != contest.baseline) task.speed_up.push_back(arm.name);
    }
  }
}

}  // namespace

const ArmSpec& Contest::arm(std::string_view name) const {
  const auto found = std::find_if(arms.begin(), arms.end(), [&](const auto& arm) { return arm.name == name; });
  if (found == arms.end()) throw_invalid_argument("the contest has no arm '{}'", name);
  return *found;
}

Contest parse_contest(std::string_view text, const std::string& where) {
  const auto file = train::parse_toml(text, where);
  const ContestReader reader(where);
  Contest contest;
  TaskDefaults common;
  reader.read_file(file, contest, common);
  for (const auto* table : tables_of(reader, file, "arm")) {
    contest.arms.push_back(reader.read_arm(*table));
    const auto& name = contest.arms.back().name;
    if (std::count_if(contest.arms.begin(), contest.arms.end(), [&](const auto& arm) { return arm.name == name; }) >
        1) {
      reader.throw_at(*table, fmt::format("the arm {} is listed twice", name));
    }
  }
  const auto known = names_of(contest.arms);
  const auto check_roles = [&](const char* key, const std::vector<std::string>& names) {
    const auto* node = file.get(key);
    if (node == nullptr) throw train::ConfigError(fmt::format("{} has no '{}', which names an arm", where, key));
    try {
      check_known("arm", names, known);
    } catch (const std::invalid_argument& error) {
      reader.throw_at(*node, error.what());
    }
  };
  check_roles("baseline", {contest.baseline});
  check_roles("challenger", {contest.question.challenger});
  check_roles("rivals", contest.question.rivals);
  check_roles("classics", contest.question.classics);
  if (!contest.question.probe.empty()) check_roles("probe", {contest.question.probe});
  std::set<std::string> taken;
  for (const auto* table : tables_of(reader, file, "task")) {
    auto defaults = common;
    reader.read_task(*table, defaults);
    try {
      complete_task(contest, defaults.rates, defaults.task);
      check_task(contest, defaults.task);
    } catch (const std::invalid_argument& error) {
      reader.throw_at(*table, error.what());
    }
    if (!taken.insert(defaults.task.name).second) {
      reader.throw_at(*table, fmt::format("the task {} is listed twice", defaults.task.name));
    }
    contest.tasks.push_back(std::move(defaults.task));
  }
  return contest;
}

Contest restricted(const Contest& contest, const std::vector<std::string>& tasks,
                   const std::vector<std::string>& arms) {
  check_known("task", tasks, names_of(contest.tasks));
  check_known("arm", arms, names_of(contest.arms));
  if (!arms.empty() && !has(arms, contest.baseline)) {
    throw_invalid_argument("--arms must contain the baseline {}", contest.baseline);
  }
  Contest result = contest;
  const auto drop = [&](std::vector<std::string>& names) {
    std::erase_if(names, [&](const auto& name) { return !arms.empty() && !has(arms, name); });
  };
  std::erase_if(result.tasks, [&](const auto& task) { return !tasks.empty() && !has(tasks, task.name); });
  std::erase_if(result.arms, [&](const auto& arm) { return !arms.empty() && !has(arms, arm.name); });
  for (auto& task : result.tasks) {
    drop(task.arms);
    drop(task.speed_up);
  }
  return result;
}

std::vector<std::string> built_in_contests() {
  std::vector<std::string> names;
  for (const auto file : train::embedded_names()) {
    if (!file.starts_with(kFolder)) continue;
    names.emplace_back(file.substr(kFolder.size(), file.size() - kFolder.size() - kEnding.size()));
  }
  return names;
}

std::string contest_text(const std::string& name_or_path) {
  if (const auto text = train::embedded_text(fmt::format("{}{}{}", kFolder, name_or_path, kEnding))) {
    return std::string(*text);
  }
  std::error_code error;
  if (!name_or_path.ends_with(kEnding) && !std::filesystem::exists(name_or_path, error)) {
    throw_invalid_argument("there is no contest '{}'; there are {}, or name a file", name_or_path,
                           fmt::join(built_in_contests(), ", "));
  }
  return read_text(name_or_path, kLargestContestFile);
}

}  // namespace lehi::contest
