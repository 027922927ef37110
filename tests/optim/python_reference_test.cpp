// nadam, radam and amsgrad, which torch has in Python only, against the weights that python3-torch computed
// (scripts/reference/optimizers.py, tests/data/optimizer_references.json).
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

Options options_of(const nlohmann::json& run) {
  Options options = preset(run["optimizer"].get<std::string>());
  const auto& given = run["options"];
  options.group.lr = given["lr"].get<double>();
  if (given.contains("betas")) {
    options.group.beta1 = given["betas"][0].get<double>();
    options.group.beta2 = given["betas"][1].get<double>();
  }
  options.group.eps = given.value("eps", options.group.eps);
  options.group.momentum_decay = given.value("momentum_decay", options.group.momentum_decay);
  return options;
}

void expect_recorded_path(const std::string& optimizer_name) {
  std::size_t runs = 0;
  for (const auto& run : references()["runs"]) {
    if (run["optimizer"].get<std::string>() != optimizer_name) continue;
    ++runs;
    for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
      const auto problem = make_problem(run["problem"].get<std::string>(), dtype);
      SCOPED_TRACE(problem.name + " " + run["options"].dump() + (dtype == torch::kFloat64 ? " float64" : " float32"));
      const auto weights = fresh(problem.start);
      Optimizer optimizer(weights, options_of(run));
      std::size_t compared = 0;
      for (std::int64_t step = 1; step <= references()["steps"].get<std::int64_t>(); ++step) {
        take_step(optimizer, problem, weights, step);
        const auto found = run["weights"].find(std::to_string(step));
        if (found == run["weights"].end()) continue;
        ++compared;
        expect_close(weights, tensor_of(*found, torch::kFloat64), tolerance(dtype), step);
      }
      EXPECT_EQ(compared, run["weights"].size());
    }
  }
  EXPECT_EQ(runs, 6U) << "two sets of numbers on three problems";
}

TEST(PythonReference, NadamFollowsPythonTorch) { expect_recorded_path("nadam"); }
TEST(PythonReference, RadamFollowsPythonTorch) { expect_recorded_path("radam"); }
TEST(PythonReference, AmsgradFollowsPythonTorch) { expect_recorded_path("amsgrad"); }

TEST(PythonReference, DefaultNumbersArePythonTorchs) {
  EXPECT_EQ(preset(Preset::nadam).group.lr, 2e-3);
  EXPECT_EQ(preset(Preset::nadam).group.momentum_decay, 4e-3);
  EXPECT_EQ(preset(Preset::radam).group.lr, 1e-3);
  EXPECT_EQ(preset(Preset::amsgrad).group.lr, 1e-3);
  for (const auto kind : {Preset::nadam, Preset::radam, Preset::amsgrad}) {
    EXPECT_EQ(preset(kind).group.beta1, 0.9);
    EXPECT_EQ(preset(kind).group.beta2, 0.999);
    EXPECT_EQ(preset(kind).group.eps, 1e-8);
    EXPECT_EQ(preset(kind).group.weight_decay, 0.0);
  }
}

}  // namespace
}  // namespace lehi::testing
