#include "cli/loss.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/table.h"

namespace lehi::cli {
namespace {

std::vector<double> numbers(const torch::Tensor& tensor) {
  const auto flat = tensor.to(torch::kFloat64).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// One row. A single target of cross-entropy is a class index; other targets have the predictions' shape.
torch::Tensor target_tensor(const LossConfig& config, torch::ScalarType dtype) {
  if (config.loss != "cross-entropy" || config.target.size() != 1) {
    return torch::tensor(config.target, dtype).unsqueeze(0);
  }
  const double index = config.target[0];
  if (index != std::floor(index) || std::abs(index) > 1e15) {
    throw UsageError(
        fmt::format("--target: {} is not a class index; expected a whole number, or one probability per prediction, "
                    "separated by commas",
                    index));
  }
  return torch::tensor({static_cast<std::int64_t>(index)});
}

}  // namespace

LossConfig parse_loss(const Arguments& arguments) {
  LossConfig config;
  std::string predictions;
  std::string target;
  std::string probe = "imitation";
  std::string dtype = "float64";
  CLI::App app(
      "Evaluate a loss at one row of predictions p. Print its value, the gradient u = dl/dp, the probe vector v and "
      "the second derivatives d2l/dp_i^2.",
      "lehi loss");
  app.add_option("LOSS", config.loss, "a loss from `lehi list losses`")->required();
  app.add_option("--predictions", predictions, "the predictions, separated by commas")->type_name("P,...")->required();
  app.add_option("--target", target,
                 "one number per prediction, separated by commas; for cross-entropy a class index or probabilities")
      ->type_name("Y,...")
      ->required();
  app.add_option("--probe", probe, "a probe from `lehi list probes`")->type_name("PROBE")->capture_default_str();
  app.add_option("--seed", config.seed, "seed of a random probe")->type_name("N")->capture_default_str();
  app.add_option("--dtype", dtype, "precision: float64 or float32")
      ->type_name("TYPE")
      ->capture_default_str()
      ->check(CLI::IsMember({"float64", "float32"}));
  const auto number = [&app](const char* flag, std::optional<double>& value, const char* text) {
    app.add_option(flag, value, text)->type_name("X")->check(finite());
  };
  number("--delta", config.numbers.delta, "huber: error beyond which the loss is linear [default: 1]");
  number("--gamma", config.numbers.gamma, "focal: exponent [default: 2]");
  number("--alpha", config.numbers.alpha, "focal: weight of target 1 [default: 0.25]");
  number("--label-smoothing", config.numbers.label_smoothing,
         "cross-entropy: part of the target spread over all classes [default: 0]");
  app.add_flag("--json", config.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  lehi loss cross-entropy --predictions 1,2,3 --target 2\n"
      "  lehi loss cross-entropy --predictions 1,2,3 --target 0.2,0.3,0.5 --probe gauss-newton --seed 7\n"
      "  lehi loss huber --predictions=-0.5,4 --target 0,0 --delta 2 --json");
  parse_arguments(app, arguments);
  config.predictions = parse_numbers("--predictions", predictions);
  config.target = parse_numbers("--target", target);
  config.probe = probe_from_name(probe);
  config.single_precision = dtype == "float32";
  return config;
}

int run_loss(const LossConfig& config, std::ostream& out, std::ostream& /*err*/) {
  const auto dtype = config.single_precision ? torch::kFloat32 : torch::kFloat64;
  const auto loss = make_loss(config.loss, config.numbers);
  const auto predictions = torch::tensor(config.predictions, torch::kFloat64).to(dtype).unsqueeze(0);
  const auto target = target_tensor(config, dtype);
  ProbeRequest request;
  request.probe = config.probe;
  request.key.seed = config.seed;
  const auto result = loss->evaluate(predictions, target, request);
  const auto u = numbers(result.gradient);
  const auto v = config.probe == Probe::gradient ? u : numbers(result.probe);
  const auto second = numbers(loss->second_derivatives(predictions, target));
  if (config.json) {
    const nlohmann::ordered_json document = {
        {"schema", 1},   {"loss", config.loss}, {"probe_name", name(config.probe)}, {"value", result.mean()},
        {"gradient", u}, {"probe", v},          {"second_derivatives", second},
    };
    out << document.dump(2) << '\n';
    return done;
  }
  out << fmt::format("{} = {}\n\n", config.loss, short_number(result.mean(), 12));
  std::vector<std::vector<std::string>> rows = {
      {"output", "prediction", "u = dl/dp", fmt::format("v ({})", name(config.probe)), "v^2", "d2l/dp^2"}};
  for (std::size_t i = 0; i < u.size(); ++i) {
    rows.push_back({std::to_string(i), short_number(config.predictions[i]), short_number(u[i]), short_number(v[i]),
                    short_number(v[i] * v[i]), short_number(second[i])});
  }
  print_table(out, rows, Align::right);
  return done;
}

}  // namespace lehi::cli
