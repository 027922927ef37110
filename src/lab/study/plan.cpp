#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "runtime/message.h"

namespace lehi::study {
namespace {

template <class T>
void refuse_repeats(std::string_view what, const std::vector<T>& values) {
  if (values.empty()) throw_invalid_argument("the study has no {}: name at least one", what);
  std::set<T> seen;
  for (const T& value : values) {
    if (!seen.insert(value).second)
      throw_invalid_argument("the study lists the {} {} twice: name each once", what, value);
  }
}

bool names_its_rate(const train::OptimizerChoice& choice) {
  return std::any_of(choice.settings.begin(), choice.settings.end(),
                     [](const auto& setting) { return setting.key == "optimizer.lr"; });
}

train::RunConfig resolve_run(const PlanRequest& request, const std::string& task, const train::OptimizerChoice& choice,
                             std::uint64_t seed) {
  train::ConfigRequest run{.task = task,
                           .preset = request.preset,
                           .optimizer = choice.name,
                           .file = request.file,
                           .settings = request.settings};
  run.settings.insert(run.settings.end(), choice.settings.begin(), choice.settings.end());
  run.settings.push_back({"seed", std::to_string(seed), "--seeds"});
  auto config = train::resolve(run);
  if (config.threads == 0) config.threads = 1;
  return config;
}

// Six digits: a rate that was computed should still be one that people can read and type.
double short_number(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

train::OptimizerChoice parse_choice(const std::string& text) {
  if (text != kMomentumControl) return train::parse_optimizer_choice(text);
  return {.text = text, .name = "sgd", .settings = {}};
}

/// What the rates of a choice are multiplied by.
double rate_factor(const PlanRequest& request, const std::string& task, train::OptimizerChoice& choice) {
  if (choice.text != kMomentumControl) return 1.0;
  const auto lehi = resolve_run(request, task, train::parse_optimizer_choice("lehi"), 0).optimizer.group;
  // lehi's momentum is a mean of gradients in the same sense.
  const auto beta1 = fmt::format("{}", lehi.beta1);
  choice.settings = {{"optimizer.momentum", beta1, choice.text}, {"optimizer.dampening", beta1, choice.text}};
  return 1.0 / std::sqrt(lehi.eps);
}

// Two names may become the same file name ("a b" and "a_b", or on a disk that ignores case).
std::string unique_name(const std::string& wanted, std::set<std::string>& taken) {
  const auto folded = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  std::string name = wanted;
  for (int i = 2; !taken.insert(folded(name)).second; ++i) name = fmt::format("{}-{}", wanted, i);
  return name;
}

std::string directory_name(const PlannedRun& run) {
  return fmt::format("{}-{}-lr{}-seed{}", short_task(run.config.task), safe_name(run.variant),
                     run.config.optimizer.group.lr, run.config.seed);
}

void check_rates(const std::vector<double>& rates) {
  refuse_repeats("learning rate", rates);
  for (const double rate : rates) {
    if (!(rate > 0.0)) throw_invalid_argument("a learning rate of the study is {}, but must be greater than 0", rate);
  }
}

void check_request(const PlanRequest& request) {
  refuse_repeats("task", request.tasks);
  refuse_repeats("optimizer", request.optimizers);
  refuse_repeats("seed", request.seeds);
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
        "the best {} of the rates are to get more seeds, but the study has one seed only: name others too",
        request.best);
  }
}

/// A mistake in a file is the file's.
template <class Action>
void blame_origin(const Origin& origin, Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    if (origin.file.empty()) throw;
    const std::string text = error.what();  // a setting names its own line
    if (text.starts_with(origin.file + ", line ")) throw train::ConfigError(text);
    throw train::ConfigError(fmt::format("{}, line {}: {}", origin.file, origin.line, text));
  }
}

/// One optimizer on one task.
struct OptimizerPlan {
  train::OptimizerChoice choice;
  train::RunConfig config;  ///< of the first seed
  std::vector<double> rates;
};

struct TaskPlan {
  std::string task;  ///< as its runs name it
  std::vector<OptimizerPlan> optimizers;
  std::vector<std::uint64_t> seeds;  ///< of the first phase
  std::optional<SecondPhase> second;
};

// What the request lists, or nothing.
const std::vector<double>& listed_rates(const PlanRequest& request, const train::OptimizerChoice& choice) {
  auto own = request.rates_of.find(choice.text);
  if (own == request.rates_of.end() && choice.text == kMomentumControl) own = request.rates_of.find("lehi");
  if (own == request.rates_of.end()) return request.rates;
  if (names_its_rate(choice))
    throw_invalid_argument("{} names its own learning rate, but others are given for it too", choice.text);
  return own->second;
}

OptimizerPlan plan_optimizer(const PlanRequest& request, const std::string& task, const std::string& text) {
  auto choice = parse_choice(text);
  const bool control = choice.text == kMomentumControl;
  const double factor = rate_factor(request, task, choice);
  auto config = resolve_run(request, task, choice, request.seeds.front());
  std::vector<double> rates = {config.optimizer.group.lr};
  if (control) rates = {resolve_run(request, task, parse_choice("lehi"), 0).optimizer.group.lr};
  const auto& listed = listed_rates(request, choice);
  if (!names_its_rate(choice)) {
    if (!listed.empty()) rates = listed;
    if (listed.empty() && request.default_rates == Rates::grid) rates = config.judge.rates;
  }
  if (rates.empty()) throw_invalid_argument("task {} has no judge.rates to search: name them with --lrs", task);
  if (control) {
    for (double& rate : rates) rate = short_number(rate * factor);
  }
  std::sort(rates.begin(), rates.end());
  for (const double rate : rates) {
    config.optimizer.group.lr = rate;
    train::check(config);
  }
  return {std::move(choice), std::move(config), std::move(rates)};
}

TaskPlan plan_task(const PlanRequest& request, const std::string& task) {
  TaskPlan plan;
  for (const auto& text : request.optimizers) plan.optimizers.push_back(plan_optimizer(request, task, text));
  plan.task = plan.optimizers.front().config.task;
  plan.seeds = request.seeds;
  if (request.best > 0) {
    plan.second = SecondPhase{plan.task, request.best, {request.seeds.begin() + 1, request.seeds.end()}};
    plan.seeds.resize(1);
  }
  return plan;
}

PlannedRun with_seed(PlannedRun run, std::uint64_t seed, std::set<std::string>& taken) {
  run.config.seed = seed;
  run.config.optimizer.seed = seed;
  run.directory = unique_name(directory_name(run), taken);
  return run;
}

// All optimizers with their smallest rates, then with their next ones: the longest list sets the pace.
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
  std::set<std::string> named;
  std::size_t most_seeds = 0;
  for (const auto& request : requests) {
    blame_origin(request.origin, [&] {
      check_request(request);
      for (const auto& task : request.tasks) {
        tasks.push_back(plan_task(request, task));
        if (!named.insert(tasks.back().task).second)
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
    if (task.second) plan.seconds.push_back(std::move(*task.second));
  }
  return plan;
}

std::vector<PlannedRun> make_plan(const PlanRequest& request) { return make_study_plan({request}).runs; }

std::vector<PlannedRun> second_phase_candidates(const std::vector<PlannedRun>& first,
                                                const std::vector<SecondPhase>& seconds) {
  std::vector<PlannedRun> candidates;
  std::set<std::string> taken;
  for (const auto& run : first) unique_name(run.directory, taken);
  std::size_t most_seeds = 0;
  for (const auto& second : seconds) most_seeds = std::max(most_seeds, second.seeds.size());
  for (std::size_t i = 0; i < most_seeds; ++i) {
    for (const auto& run : first) {
      const auto second = std::find_if(seconds.begin(), seconds.end(),
                                       [&](const auto& candidate) { return candidate.task == run.config.task; });
      if (second == seconds.end() || i >= second->seeds.size()) continue;
      candidates.push_back(with_seed(run, second->seeds[i], taken));
    }
  }
  return candidates;
}

}  // namespace lehi::study
