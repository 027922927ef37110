#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "runtime/message.h"

namespace lehi::study {
namespace {

template <class T>
void refuse_repeats(std::string_view what, const std::vector<T>& values) {
  if (values.empty()) refuse("the study has no {}: name at least one", what);
  std::set<T> seen;
  for (const T& value : values) {
    if (!seen.insert(value).second) refuse("the study lists the {} {} twice: name each once", what, value);
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

}  // namespace

std::vector<PlannedRun> make_plan(const PlanRequest& request) {
  refuse_repeats("task", request.tasks);
  refuse_repeats("optimizer", request.optimizers);
  refuse_repeats("seed", request.seeds);
  if (!request.rates.empty()) refuse_repeats("learning rate", request.rates);
  for (const double rate : request.rates) {
    if (!(rate > 0.0)) refuse("a learning rate of the study is {}, but must be greater than 0", rate);
  }
  std::vector<train::OptimizerChoice> choices;
  for (const auto& text : request.optimizers) choices.push_back(parse_choice(text));

  // The rates of every optimizer on every task; the longest list sets the pace.
  struct Row {
    std::size_t choice = 0;
    train::RunConfig config;  ///< of the first seed
    std::vector<double> rates;
  };
  std::vector<std::vector<Row>> tasks;
  std::size_t longest = 0;
  for (const auto& task : request.tasks) {
    auto& rows = tasks.emplace_back();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const bool control = choices[i].text == kMomentumControl;
      const double factor = rate_factor(request, task, choices[i]);
      auto config = resolve_run(request, task, choices[i], request.seeds.front());
      std::vector<double> rates = {config.optimizer.group.lr};
      if (control) rates = {resolve_run(request, task, parse_choice("lehi"), 0).optimizer.group.lr};
      if (!names_its_rate(choices[i])) {
        if (!request.rates.empty()) rates = request.rates;
        if (request.rates.empty() && request.default_rates == Rates::grid) rates = config.judge.rates;
      }
      if (rates.empty()) refuse("task {} has no judge.rates to search: name them with --lrs", task);
      if (control) {
        for (double& rate : rates) rate = short_number(rate * factor);
      }
      std::sort(rates.begin(), rates.end());
      longest = std::max(longest, rates.size());
      rows.push_back({i, std::move(config), std::move(rates)});
    }
  }

  std::vector<PlannedRun> plan;
  std::set<std::string> taken;
  for (const std::uint64_t seed : request.seeds) {
    for (const auto& rows : tasks) {
      for (std::size_t position = 0; position < longest; ++position) {
        for (const Row& row : rows) {
          if (position >= row.rates.size()) continue;
          PlannedRun run{.directory = "", .variant = choices[row.choice].text, .config = row.config};
          run.config.seed = seed;
          run.config.optimizer.seed = seed;
          run.config.optimizer.group.lr = row.rates[position];
          train::check(run.config);
          run.directory = unique_name(directory_name(run), taken);
          plan.push_back(std::move(run));
        }
      }
    }
  }
  return plan;
}

std::vector<std::string> split_optimizers(std::string_view option, std::string_view text) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  if (depth != 0) refuse("{}: '{}' has a bracket without its other half", option, text);
  for (const auto& piece : pieces) {
    if (piece.empty()) refuse("{}: '{}' has an empty name; expected names separated by commas", option, text);
  }
  return pieces;
}

std::string safe_name(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '-' || c == '_' || c == '+';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  name.erase(0, name.find_first_not_of(".-_"));
  if (name.size() > longest) name.resize(longest);
  name.erase(name.find_last_not_of(".-_") + 1);
  return name.empty() ? "x" : name;
}

std::string short_task(std::string_view task) {
  constexpr std::string_view csv = "csv:";
  if (!task.starts_with(csv)) return safe_name(task);
  return "csv-" + safe_name(std::filesystem::path(task.substr(csv.size())).stem().string());
}

}  // namespace lehi::study
