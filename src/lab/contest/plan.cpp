#include "contest/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/message.h"
#include "study/names.h"
#include "study/optimizer_plan.h"
#include "train/task_data.h"

namespace lehi::contest {
namespace {

constexpr double kWarmup = 0.05;  // of a run's steps

std::string after_prefix(std::string_view metric) {
  const auto underscore = metric.find('_');
  return std::string(underscore == std::string_view::npos ? metric : metric.substr(underscore + 1));
}

std::vector<train::Setting> protocol_settings(std::int64_t steps) {
  const auto warmup = std::llround(kWarmup * static_cast<double>(steps));
  const std::string source = "the contest";
  return {{"train.steps", fmt::format("{}", steps), source},
          {"train.evaluate_every", fmt::format("{}", steps), source},
          {"rate.schedule", "linear", source},
          {"rate.warmup", fmt::format("{}", warmup), source},
          {"rate.floor", "0.0", source},
          {"judge.window", "1", source}};
}

study::PlannedRun plan_entry(const TaskSpec& task, const Entry& entry) {
  auto optimizer = optimizer_text(task, entry.arm, entry.knob);
  study::PlanRequest request{.tasks = {task.task},
                             .preset = task.preset,
                             .file = {},
                             .optimizers = {optimizer},
                             .rates = {entry.lr},
                             .seeds = {0},
                             .settings = task.settings};
  const auto settings = protocol_settings(entry.steps);
  request.settings.insert(request.settings.end(), settings.begin(), settings.end());
  try {
    auto config = study::plan_optimizer(request, task.task, optimizer).config;
    config.optimizer.group.lr = entry.lr;
    return {.directory = "", .variant = std::move(optimizer), .config = std::move(config)};
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    if (task.origin.file.empty() || text.starts_with(task.origin.file + ", line ")) throw train::ConfigError(text);
    throw train::ConfigError(
        fmt::format("{}, line {}: {}, {}: {}", task.origin.file, task.origin.line, task.name, optimizer, text));
  }
}

}  // namespace

std::int64_t equal_time_steps(std::int64_t steps, double ratio) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(steps) / ratio));
}

std::string knob_text(const Knob& knob, const std::string& value) {
  return fmt::format("optimizer.{}={}", knob.key, value);
}

std::string optimizer_text(const TaskSpec& task, const std::string& arm, const std::string& knob) {
  const auto& text = task.optimizer_of.at(arm);
  if (knob.empty()) return text;
  const auto choice = train::parse_optimizer_choice(text);
  const auto added = train::parse_setting(knob);
  constexpr std::string_view prefix = "optimizer.";
  std::vector<std::string> settings;
  const auto append = [&](const train::Setting& setting) {
    settings.push_back(fmt::format("{}={}", setting.key.substr(prefix.size()), setting.value));
  };
  for (const auto& setting : choice.settings) {
    if (setting.key != added.key) append(setting);
  }
  append(added);
  return fmt::format("{}[{}]", choice.name, fmt::join(settings, ","));
}

std::vector<study::PlannedRun> plan_runs(const TaskSpec& task, const std::vector<Entry>& entries,
                                         const std::vector<std::uint64_t>& seeds) {
  std::vector<study::PlannedRun> planned;
  planned.reserve(entries.size());
  for (const auto& entry : entries) planned.push_back(plan_entry(task, entry));
  std::vector<study::PlannedRun> runs;
  std::set<std::string> taken;
  for (const auto seed : seeds) {
    for (auto run : planned) {
      run.config.seed = seed;
      run.config.optimizer.seed = seed;
      run.directory =
          study::unique_name(study::directory_name(task.name, run.variant, run.config.optimizer.group.lr, seed), taken);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<study::PlannedRun> check_task_plan(const Contest& contest, const TaskSpec& task,
                                               const std::vector<std::string>& selected) {
  const auto error = [&](const std::string& text) {
    return train::ConfigError(fmt::format("{}, line {}: {} {}", task.origin.file, task.origin.line, task.name, text));
  };
  std::vector<study::PlannedRun> first;
  for (const auto& name : task.arms) {
    if (std::find(selected.begin(), selected.end(), name) == selected.end()) continue;
    const auto& knob = contest.arm(name).knob;
    std::vector<Entry> entries;
    for (const double rate : task.rates_of.at(name)) entries.push_back({name, rate, "", task.steps});
    const auto rates = entries.size();
    for (const auto& value : knob ? knob->values : std::vector<std::string>()) {
      entries.push_back({name, task.rates_of.at(name).front(), knob_text(*knob, value), task.steps});
    }
    const auto plan = plan_runs(task, entries, {task.tuning_seeds.front()});
    for (std::size_t i = rates; i < plan.size(); ++i) {
      if (train::to_toml(plan[i].config) != train::to_toml(plan.front().config)) continue;
      throw error(fmt::format("tries {} with {} twice: the rates were tried with it already; choose another value",
                              name, entries[i].knob));
    }
    if (first.empty()) first = {plan.front()};
  }
  const auto& config = first.front().config;
  if (config.judge.metric.starts_with("test_") && config.validation == 0.0) {
    throw error("holds out no rows to tune with; add validation = 0.1");
  }
  if (train::is_text_task(config.task) && config.train_rows + config.test_rows > 0) {
    throw error(
        "is on text, which data.train_rows and data.test_rows do not shorten; set text.train_tokens and "
        "text.test_tokens");
  }
  return first;
}

std::string tuning_metric(std::string_view judged_by) { return "validation_" + after_prefix(judged_by); }

std::string reported_metric(std::string_view judged_by) { return "test_" + after_prefix(judged_by); }

}  // namespace lehi::contest
