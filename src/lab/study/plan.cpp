#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/nearest.h"
#include "runtime/message.h"
#include "study/names.h"
#include "study/optimizer_plan.h"

namespace lehi::study {
namespace {

template <class T>
void check_unique(std::string_view what, const std::vector<T>& values) {
  if (values.empty()) throw_invalid_argument("the study has no {}: name at least one", what);
  std::set<T> seen;
  for (const T& value : values) {
    if (!seen.insert(value).second)
      throw_invalid_argument("the study lists the {} {} twice: name each once", what, value);
  }
}

void check_rates(const std::vector<double>& rates) {
  check_unique("learning rate", rates);
  for (const double rate : rates) {
    if (!(rate > 0.0)) throw_invalid_argument("a learning rate of the study is {}, but must be greater than 0", rate);
  }
}

void check_request(const PlanRequest& request) {
  check_unique("task", request.tasks);
  check_unique("optimizer", request.optimizers);
  check_unique("seed", request.seeds);
  if (!request.rates.empty()) check_rates(request.rates);
  for (const auto& [optimizer, rates] : request.rates_of) {
    check_rates(rates);
    if (std::find(request.optimizers.begin(), request.optimizers.end(), optimizer) == request.optimizers.end()) {
      throw_invalid_argument("rates are given for {}, which the study does not train{}", optimizer,
                             base::suggestion(optimizer, request.optimizers));
    }
  }
  if (request.best > 0 && request.seeds.size() < 2) {
    throw_invalid_argument(
        "the second phase runs the best {} rates with the seeds after the first, but the study has one seed only: name "
        "at least two",
        request.best);
  }
}

/// Runs `action`; an error about a request from a study file is rethrown with that file and line in front.
template <class Action>
void with_origin(const Origin& origin, Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    if (origin.file.empty()) throw;
    const std::string text = error.what();
    if (text.starts_with(origin.file + ", line ")) throw train::ConfigError(text);  // of a setting, with its own line
    throw train::ConfigError(fmt::format("{}, line {}: {}", origin.file, origin.line, text));
  }
}

struct TaskPlan {
  std::string task;  ///< as in the runs' configurations
  std::vector<OptimizerPlan> optimizers;
  std::vector<std::uint64_t> seeds;  ///< of the first phase
  std::optional<SecondPhase> second_phase;
};

TaskPlan plan_task(const PlanRequest& request, const std::string& task) {
  TaskPlan plan;
  plan.optimizers.reserve(request.optimizers.size());
  for (const auto& optimizer : request.optimizers) plan.optimizers.push_back(plan_optimizer(request, task, optimizer));
  plan.task = plan.optimizers.front().config.task;
  plan.seeds = request.seeds;
  if (request.best > 0) {
    plan.second_phase = SecondPhase{plan.task, request.best, {request.seeds.begin() + 1, request.seeds.end()}};
    plan.seeds.resize(1);
  }
  return plan;
}

PlannedRun with_seed(PlannedRun run, std::uint64_t seed, std::set<std::string>& taken) {
  run.config.seed = seed;
  run.config.optimizer.seed = seed;
  run.directory = unique_name(directory_name(run.config.task, run.variant, run.config.optimizer.group.lr, seed), taken);
  return run;
}

// First all optimizers with their smallest rates, then with their second ones, and so on.
void add_runs(const TaskPlan& task, std::uint64_t seed, std::set<std::string>& taken, std::vector<PlannedRun>& runs) {
  std::size_t longest = 0;
  for (const auto& optimizer : task.optimizers) longest = std::max(longest, optimizer.rates.size());
  for (std::size_t position = 0; position < longest; ++position) {
    for (const auto& [choice, config, rates] : task.optimizers) {
      if (position >= rates.size()) continue;
      PlannedRun run{.directory = "", .variant = choice.text, .config = config};
      run.config.optimizer.group.lr = rates[position];
      runs.push_back(with_seed(std::move(run), seed, taken));
    }
  }
}

}  // namespace

StudyPlan make_study_plan(const std::vector<PlanRequest>& requests) {
  std::vector<TaskPlan> tasks;
  std::set<std::string> task_names;
  std::size_t most_seeds = 0;
  for (const auto& request : requests) {
    with_origin(request.origin, [&] {
      check_request(request);
      for (const auto& task : request.tasks) {
        tasks.push_back(plan_task(request, task));
        if (!task_names.insert(tasks.back().task).second)
          throw_invalid_argument("the study lists the task {} twice: name each once", task);
      }
    });
    most_seeds = std::max(most_seeds, request.seeds.size());
  }
  if (tasks.empty()) throw_invalid_argument("the study has no task: name at least one");

  StudyPlan plan;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < most_seeds; ++i) {
    for (const auto& task : tasks) {
      if (i < task.seeds.size()) add_runs(task, task.seeds[i], taken, plan.runs);
    }
  }
  for (auto& task : tasks) {
    if (task.second_phase) plan.second_phases.push_back(std::move(*task.second_phase));
  }
  return plan;
}

std::vector<PlannedRun> second_phase_candidates(const std::vector<PlannedRun>& first,
                                                const std::vector<SecondPhase>& second_phases) {
  std::vector<PlannedRun> candidates;
  std::set<std::string> taken;
  for (const auto& run : first) unique_name(run.directory, taken);
  std::size_t most_seeds = 0;
  for (const auto& second : second_phases) most_seeds = std::max(most_seeds, second.seeds.size());
  for (std::size_t i = 0; i < most_seeds; ++i) {
    for (const auto& run : first) {
      const auto second = std::find_if(second_phases.begin(), second_phases.end(),
                                       [&](const auto& phase) { return phase.task == run.config.task; });
      if (second == second_phases.end() || i >= second->seeds.size()) continue;
      candidates.push_back(with_seed(run, second->seeds[i], taken));
    }
  }
  return candidates;
}

}  // namespace lehi::study
