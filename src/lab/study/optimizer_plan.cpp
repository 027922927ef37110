#include "study/optimizer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "runtime/message.h"

namespace lehi::study {
namespace {

bool has_own_rate(const train::OptimizerChoice& choice) {
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

// Computed rates are rounded to six digits so that they are easy to read and type.
double round_to_six_digits(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

train::OptimizerChoice parse_choice(const std::string& text) {
  if (text != kMomentumControl) return train::parse_optimizer_choice(text);
  return {.text = text, .name = "sgd", .settings = {}};
}

/// Completes the settings of momentum-control and returns the factor of its rates; 1 for other optimizers.
double rate_factor(const PlanRequest& request, const std::string& task, train::OptimizerChoice& choice) {
  if (choice.text != kMomentumControl) return 1.0;
  const auto lehi = resolve_run(request, task, train::parse_optimizer_choice("lehi"), 0).optimizer.group;
  // With dampening = momentum, sgd averages the gradients as lehi does.
  const auto beta1 = fmt::format("{}", lehi.beta1);
  choice.settings = {{"optimizer.momentum", beta1, choice.text}, {"optimizer.dampening", beta1, choice.text}};
  return 1.0 / std::sqrt(lehi.eps);
}

/// The rates that the request lists for this optimizer; may be empty.
const std::vector<double>& listed_rates(const PlanRequest& request, const train::OptimizerChoice& choice) {
  auto own = request.rates_of.find(choice.text);
  if (own == request.rates_of.end() && choice.text == kMomentumControl) own = request.rates_of.find("lehi");
  if (own == request.rates_of.end()) return request.rates;
  if (has_own_rate(choice))
    throw_invalid_argument("{} names its own learning rate, but others are given for it too", choice.text);
  return own->second;
}

}  // namespace

OptimizerPlan plan_optimizer(const PlanRequest& request, const std::string& task, const std::string& optimizer) {
  auto choice = parse_choice(optimizer);
  const bool control = choice.text == kMomentumControl;
  const double factor = rate_factor(request, task, choice);
  auto config = resolve_run(request, task, choice, request.seeds.front());
  std::vector<double> rates = {config.optimizer.group.lr};
  if (control) rates = {resolve_run(request, task, parse_choice("lehi"), 0).optimizer.group.lr};
  const auto& listed = listed_rates(request, choice);
  if (!has_own_rate(choice)) {
    if (!listed.empty()) rates = listed;
    if (listed.empty() && request.default_rates == Rates::grid) rates = config.judge.rates;
  }
  if (rates.empty()) throw_invalid_argument("task {} has no judge.rates to search: name them with --lrs", task);
  if (control) {
    for (double& rate : rates) rate = round_to_six_digits(rate * factor);
  }
  std::sort(rates.begin(), rates.end());
  for (const double rate : rates) {
    config.optimizer.group.lr = rate;
    train::check(config);
  }
  return {std::move(choice), std::move(config), std::move(rates)};
}

}  // namespace lehi::study
