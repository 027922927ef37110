#include "contest/contest_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "contest/batches.h"

namespace lehi::contest {
namespace {

/// Name and value of everything that decides the runs.
using Facts = std::vector<std::pair<std::string, std::string>>;

Facts task_facts(const Contest& contest, const TaskSpec& task) {
  Facts facts = {{"baseline", contest.baseline},
                 {"task", task.task},
                 {"preset", task.preset},
                 {"steps", fmt::format("{}", task.steps)},
                 {"tuning_seeds", fmt::format("{}", task.tuning_seeds)},
                 {"seeds", fmt::format("{}", task.seeds)},
                 {"speed_steps", fmt::format("{}", task.speed_steps)},
                 {"speed_rounds", fmt::format("{}", task.speed_rounds)},
                 {"speed_up_seeds", fmt::format("{}", task.speed_up_seeds)}};
  std::vector<std::string> settings;
  for (const auto& setting : task.settings) settings.push_back(fmt::format("{}={}", setting.key, setting.value));
  facts.emplace_back("settings", fmt::format("{}", fmt::join(settings, ", ")));
  return facts;
}

Facts arm_facts(const Contest& contest, const TaskSpec& task, const std::string& name) {
  if (std::find(task.arms.begin(), task.arms.end(), name) == task.arms.end()) return {{"arms", "without it"}};
  const auto& knob = contest.arm(name).knob;
  const bool searched = std::find(task.speed_up.begin(), task.speed_up.end(), name) != task.speed_up.end();
  return {{"arms", "with it"},
          {"rates", fmt::format("{}", task.rates_of.at(name))},
          {"knob", knob ? fmt::format("{} {}", knob->key, knob->values) : "none"},
          {"optimizer", task.optimizer_of.at(name)},
          {"speed_up", searched ? "with it" : "without it"}};
}

std::string first_difference(const Facts& there, const Facts& here, const std::string& of) {
  for (std::size_t i = 0; i < std::min(there.size(), here.size()); ++i) {
    if (there[i] == here[i]) continue;
    return fmt::format("{} of {} is {} there and {} here", there[i].first, of, there[i].second, here[i].second);
  }
  return "";
}

const TaskSpec* find_task(const Contest& contest, const std::string& name) {
  const auto found =
      std::find_if(contest.tasks.begin(), contest.tasks.end(), [&](const auto& task) { return task.name == name; });
  return found == contest.tasks.end() ? nullptr : &*found;
}

std::string task_difference(const Contest& there, const TaskSpec& before, const Contest& here,
                            const std::vector<std::string>& arms) {
  const auto* now = find_task(here, before.name);
  if (now == nullptr) return fmt::format("the task {} is missing here", before.name);
  auto text = first_difference(task_facts(there, before), task_facts(here, *now), before.name);
  for (std::size_t i = 0; i < arms.size() && text.empty(); ++i) {
    text = first_difference(arm_facts(there, before, arms[i]), arm_facts(here, *now, arms[i]),
                            fmt::format("{}, {},", before.name, arms[i]));
  }
  return text;
}

}  // namespace

std::string contest_difference(const Contest& there, const Contest& here, const std::filesystem::path& directory) {
  for (const auto& task : there.tasks) {
    const auto arms = Batches::read(directory / task.name).arms();
    if (arms.empty()) continue;
    if (auto text = task_difference(there, task, here, arms); !text.empty()) return text;
  }
  return "";
}

}  // namespace lehi::contest
