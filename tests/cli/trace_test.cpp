#include "cli/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "cli/optimizer_description.h"
#include "cli/run.h"
#include "cli/trace_figure.h"
#include "cli/trace_path.h"
#include "lehi/losses.h"
#include "lehi/presets.h"
#include "model/problem.h"
#include "plot/svg.h"
#include "plot/well_formed.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

Numbers weights(const torch::Tensor& w) {
  const auto values = w.detach();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

TEST(Trace, DocumentHasThePathFromTheStartOn) {
  const auto result = run({"trace", "rosenbrock", "--optimizer", "lehi", "--lr", "0.01", "--steps", "5", "--json"});
  ASSERT_EQ(result.code, done) << result.err;
  const auto document = result.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["problem"], "rosenbrock");
  EXPECT_EQ(document["optimizer"], "lehi");
  EXPECT_EQ(document["lr"], 0.01);
  EXPECT_EQ(document["status"], "done");
  EXPECT_EQ(document["optimum"], (Numbers{1, 1}));
  EXPECT_EQ(document["minimum"], 0);
  ASSERT_EQ(document["path"].size(), 6U);
  EXPECT_EQ(document["path"][0]["w"], (Numbers{-1.2, 1}));
  EXPECT_NEAR(document["path"][0]["value"], 12.1, 1e-13);
  for (std::size_t step = 0; step < 6; ++step) EXPECT_EQ(document["path"][step]["step"], step);
}

// The first LEHI step on rosenbrock, by hand: r = (10 (w2 - w1^2), 1 - w1) = (-4.4, 2.2), J = [[24, 10], [-1, 0]], so
// g = J^T r = (-107.8, -44), s = J^T 1 = (23, 10) and, with k = 1, w <- w - a (1-b1) g / sqrt(eps + s^2).
TEST(Trace, FirstLehiStepMatchesHandComputation) {
  const auto path =
      run({"trace", "rosenbrock", "--optimizer", "lehi", "--lr", "0.01", "--eps", "0.01", "--steps", "1", "--json"})
          .json()["path"];
  EXPECT_NEAR(path[1]["w"][0], -1.2 + 0.01 * 0.1 * 107.8 / std::sqrt(0.01 + 529), 1e-14);
  EXPECT_NEAR(path[1]["w"][1], 1.0 + 0.01 * 0.1 * 44 / std::sqrt(0.01 + 100), 1e-14);
}

// A user's program without the table of problems follows the same path, bit for bit.
TEST(Trace, AgreesWithALibraryLoop) {
  const MeanSquaredError loss;
  auto w = torch::tensor({-1.2, 1.0}, torch::kFloat64).requires_grad_(true);
  Lehibrid optimizer(std::vector<torch::Tensor>{w}, LehibridOptions(0.02).eps(1e-3).betas(0.8, 0.99));
  const auto path = run({"trace", "rosenbrock", "--optimizer", "lehibrid", "--lr", "0.02", "--eps", "1e-3", "--beta1",
                         "0.8", "--beta2", "0.99", "--steps", "200", "--json"})
                        .json()["path"];
  for (std::size_t step = 0; step <= 200; ++step) {
    ASSERT_EQ(path[step]["w"].get<Numbers>(), weights(w)) << "step " << step;
    const auto residuals = torch::stack({10 * (w[1] - w[0] * w[0]), 1 - w[0]}).unsqueeze(0);
    const double value = optimizer.step(residuals, loss, torch::zeros({1, 2}, torch::kFloat64));
    ASSERT_EQ(path[step]["value"].get<double>(), value) << "step " << step;
  }
}

TEST(Trace, AgreesWithTheLibraryForEveryProblemAndOptimizer) {
  for (const auto& problem : problems()) {
    for (const auto which : all_presets()) {
      const auto options = preset(which);
      const auto result = run({"trace", problem.name, "--optimizer", options.name, "--lr", "1e-4", "--seed", "3",
                               "--steps", "20", "--json"});
      ASSERT_EQ(result.code, done) << result.err;
      auto w = torch::tensor(problem.start, torch::kFloat64).requires_grad_(true);
      auto changed = options;
      changed.group.lr = 1e-4;
      changed.seed = 3;
      Optimizer optimizer(std::vector<torch::Tensor>{w}, changed);
      for (int step = 0; step < 20; ++step) optimizer.step(problem.predictions(w), *problem.loss, problem.targets);
      EXPECT_EQ(result.json()["path"][20]["w"].get<Numbers>(), weights(w)) << options.name << " on " << problem.name;
    }
  }
}

TEST(Trace, ReachesTheOptimumOfALogisticRegression) {
  const auto document = run({"trace", "logistic-regression", "--optimizer", "lehi", "--lr", "0.1", "--eps", "1e-8",
                             "--steps", "3000", "--json"})
                            .json();
  const auto end = document["path"].back();
  EXPECT_NEAR(end["w"][0], -4.0777, 1e-3);
  EXPECT_NEAR(end["w"][1], 1.5046, 1e-3);
  EXPECT_NEAR(end["value"], 8.02988, 1e-5);
}

TEST(Trace, StartsAtTheGivenPoint) {
  const auto document = run({"trace", "beale", "--start", "-1,0.25", "--steps", "0", "--json"}).json();
  ASSERT_EQ(document["path"].size(), 1U);
  EXPECT_EQ(document["path"][0]["w"], (Numbers{-1, 0.25}));
}

TEST(Trace, DivergenceIsAResultWithThePathSoFar) {
  const auto result = run({"trace", "rosenbrock", "--optimizer", "sgd", "--lr", "1", "--steps", "100", "--json"});
  EXPECT_EQ(result.code, diverged);
  EXPECT_THAT(result.err, HasSubstr("lehi: sgd diverged on rosenbrock at step"));
  const auto document = result.json();  // a NaN or an infinity in it would not parse
  EXPECT_EQ(document["status"], "diverged");
  EXPECT_GT(document["path"].size(), 1U);
  EXPECT_LT(document["path"].size(), 101U);
  EXPECT_EQ(document["path"][0]["w"], (Numbers{-1.2, 1}));
  EXPECT_EQ(run({"trace", "rosenbrock", "--optimizer", "sgd", "--lr", "1", "--steps", "100"}).code, diverged);
}

TEST(Trace, TextIsAShortTableAndASentence) {
  const auto result = run({"trace", "bowl", "--optimizer", "adam", "--lr", "0.01", "--steps", "1000"});
  EXPECT_EQ(result.code, done);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("Done after 1000 steps: value "));
  EXPECT_THAT(result.out, HasSubstr("(minimum 0), distance to the optimum (0, 0, 0) "));
  const auto lines = std::count(result.out.begin(), result.out.end(), '\n');
  EXPECT_GE(lines, 14);
  EXPECT_LE(lines, 24);
  EXPECT_EQ(run({"trace", "bowl", "--steps", "0"}).code, done);
  EXPECT_EQ(run({"trace", "bowl", "--steps", "1"}).code, done);
}

TEST(Trace, ListsTheProblems) {
  const auto list = run({"trace", "--list", "--json"}).json();
  ASSERT_EQ(list.size(), problems().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["name"], problems()[i].name);
    EXPECT_EQ(list[i]["start"], problems()[i].start);
  }
  EXPECT_THAT(run({"trace", "--list"}).out, HasSubstr("\nwood "));
}

TEST(Trace, ResolvesFlagsOverThePreset) {
  const auto config = parse_trace(
      {"wood",   "--optimizer",     "lehi-gn", "--lr",        "0.5", "--weight-decay", "0.1",      "--seed",
       "9",      "--refresh-every", "4",       "--dense",     "2",   "--probe",        "diagonal", "--scale",
       "sqrt-n", "--mix",           "max",     "--clip-norm", "3",   "--steps",        "7"});
  EXPECT_EQ(config.problem, "wood");
  EXPECT_EQ(config.steps, 7);
  EXPECT_FALSE(config.several);
  ASSERT_EQ(config.optimizers.size(), 1U);
  const auto& options = config.optimizers[0].options;
  EXPECT_EQ(options.name, "lehi-gn");
  EXPECT_EQ(options.group.lr, 0.5);
  EXPECT_EQ(options.group.weight_decay, 0.1);
  EXPECT_EQ(options.group.beta2, preset("lehi-gn").group.beta2);
  EXPECT_EQ(options.seed, 9U);
  EXPECT_EQ(options.clip_norm, 3);
  EXPECT_EQ(options.recipe.schedule.every, 4);
  EXPECT_EQ(options.recipe.schedule.dense, 2);
  EXPECT_EQ(options.recipe.probe, Probe::diagonal);
  EXPECT_EQ(options.recipe.scale, Scale::sqrt_n);
  EXPECT_EQ(options.recipe.mix, Mix::max);

  const auto sgd = parse_trace({"wood", "--optimizer", "sgd", "--momentum", "0.9", "--nesterov"});
  EXPECT_EQ(sgd.optimizers[0].options.group.momentum, 0.9);
  EXPECT_TRUE(sgd.optimizers[0].options.group.nesterov);
}

TEST(Trace, DescribesSchedules) {
  EXPECT_EQ(describe_schedule({}), "every step");
  EXPECT_EQ(describe_schedule({.alternate = true}), "every step, alternating with gradient");
  EXPECT_EQ(describe_schedule({.every = 10, .dense = 200}), "every 10 steps after 200 dense ones");
  EXPECT_EQ(describe_schedule({.every = 25, .doubling = true}), "steps 1, 2, 4, ..., then every 25");
  EXPECT_EQ(describe_schedule({.doubling = true}), "every step");
}

TEST(Trace, ParsesSeveralOptimizersWithTheirOwnNumbers) {
  const auto config =
      parse_trace({"beale", "--optimizers", "lehi,adam[lr=0.5,eps=1e-3],lehi-gn[refresh_every=5,mix=max]", "--lr",
                   "0.25", "--seed", "4"});
  EXPECT_TRUE(config.several);
  ASSERT_EQ(config.optimizers.size(), 3U);
  EXPECT_EQ(config.optimizers[0].variant, "lehi");
  EXPECT_EQ(config.optimizers[0].options.group.lr, 0.25);
  EXPECT_EQ(config.optimizers[1].variant, "adam[lr=0.5,eps=1e-3]");
  EXPECT_EQ(config.optimizers[1].options.name, "adam");
  EXPECT_EQ(config.optimizers[1].options.group.lr, 0.5);
  EXPECT_EQ(config.optimizers[1].options.group.eps, 1e-3);
  EXPECT_EQ(config.optimizers[2].options.recipe.schedule.every, 5);
  EXPECT_EQ(config.optimizers[2].options.recipe.mix, Mix::max);
  EXPECT_EQ(config.optimizers[2].options.group.lr, 0.25);
  for (const auto& [variant, options] : config.optimizers) EXPECT_EQ(options.seed, 4U) << variant;
}

TEST(Trace, SeveralOptimizersHaveTheSamePathsAsEachAlone) {
  const auto together =
      run({"trace", "rosenbrock", "--optimizers", "lehi[lr=0.02],adam[lr=0.1]", "--steps", "30", "--json"}).json();
  EXPECT_EQ(together["schema"], 1);
  EXPECT_EQ(together["optimum"], (Numbers{1, 1}));
  ASSERT_EQ(together["traces"].size(), 2U);
  EXPECT_EQ(together["traces"][1]["variant"], "adam[lr=0.1]");
  const auto alone =
      run({"trace", "rosenbrock", "--optimizer", "adam", "--lr", "0.1", "--steps", "30", "--json"}).json();
  for (const auto* key : {"optimizer", "lr", "options", "recipe", "status", "path"}) {
    EXPECT_EQ(together["traces"][1][key], alone[key]) << key;
  }
}

TEST(Trace, SeveralOptimizersAreOneRowEachAndOneMayDiverge) {
  const auto result = run({"trace", "rosenbrock", "--optimizers", "adam[lr=0.1],sgd[lr=1]", "--steps", "50"});
  EXPECT_EQ(result.code, done);
  EXPECT_THAT(result.out, HasSubstr("\nadam[lr=0.1] "));
  EXPECT_THAT(result.out, HasSubstr("\nsgd[lr=1] "));
  EXPECT_THAT(result.out, HasSubstr("diverged"));
  EXPECT_THAT(result.err, HasSubstr("lehi: sgd[lr=1] diverged on rosenbrock at step"));
  EXPECT_EQ(run({"trace", "rosenbrock", "--optimizers", "sgd[lr=1]", "--steps", "50"}).code, diverged);
}

TEST(Trace, WritesAFigureThatIsWellFormed) {
  const testing::Scratch scratch;
  const auto file = scratch / "paths.svg";
  const auto result = run({"trace", "rosenbrock", "--optimizers", "lehi[lr=0.02],adam[lr=0.1],sgd[lr=1]", "--steps",
                           "50", "--svg", file.string()});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_THAT(result.err, HasSubstr("lehi: wrote " + file.string() + "\n"));
  EXPECT_THAT(result.out, HasSubstr("\nadam[lr=0.1] "));  // the table is printed, too
  EXPECT_EQ(scratch.names(), std::set<std::string>{"paths.svg"});
  const auto svg = testing::slurp(file);
  for (const auto* text :
       {">rosenbrock, 50 steps<", ">LEHI, lr 0.02<", ">Adam, lr 0.1<", ">start<", ">optimum<", ">w1<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_LT(svg.size(), 100'000U);
  if (!plot::has_python()) GTEST_SKIP() << "no python3";
  EXPECT_EQ(plot::xml_error(svg), "");
}

TEST(Trace, FigureHasThePathAndTheMarksWhereTheyAre) {
  const auto& problem = find_problem("rosenbrock");
  const auto path = follow(problem, "adam", preset("adam"), {0, 0}, 3);
  const auto panel = trace_figure(problem, {path}).panels.at(0);
  const auto find = [&](const std::string& name) {
    const auto found =
        std::find_if(panel.series.begin(), panel.series.end(), [&](const auto& series) { return series.name == name; });
    return found == panel.series.end() ? plot::Series{} : *found;
  };
  EXPECT_EQ(find("start").x, (Numbers{0}));
  EXPECT_EQ(find("optimum").y, (Numbers{1}));
  const auto line = find("Adam, lr 0.001");
  ASSERT_EQ(line.x.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(line.x[i], path.points[i].w[0]);
    EXPECT_EQ(line.y[i], path.points[i].w[1]);
  }
}

// At every contour point the loss is half a power of ten above its minimum, except for the interpolation error of its
// root r between grid points at distance h. This error is at most h^2/8 times the curvature, here (sum of x^2) / (2 r)
// = 1001 / (2 r), so the relative error of r^2 is 1001 h^2 / (8 r^2). A tenth is added for higher orders.
TEST(Trace, ContoursLieOnTheirLevels) {
  const auto& problem = find_problem("linear-regression");
  const auto path = follow(problem, "adam", preset("adam"), problem.start, 1);
  const auto panel = trace_figure(problem, {path}).panels.at(0);
  const double h = (*panel.y.high - *panel.y.low) / 134;
  int checked = 0;
  for (const auto& series : panel.series) {
    if (series.x.size() < 20) continue;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (std::isnan(series.x[i])) continue;
      const double above = value(problem, torch::tensor({series.x[i], series.y[i]}, torch::kFloat64)) - problem.minimum;
      const double level = std::pow(10.0, std::round(2 * std::log10(above)) / 2);
      EXPECT_NEAR(above / level, 1.0, 1.1 * 1001 * h * h / (8 * level)) << series.x[i] << ", " << series.y[i];
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(Trace, TheWindowContainsStartAndOptimumForEveryPath) {
  const auto& problem = find_problem("beale");
  auto path = follow(problem, "adam", preset("adam"), problem.start, 1);
  auto strayed = path;
  strayed.points.push_back({.step = 2, .w = {1e200, -1e200}});
  path.points.push_back({.step = 2, .w = {1e200, std::nan("")}});
  path.diverged = true;
  const auto near = trace_window(problem, {path});
  EXPECT_EQ(near.x.high, trace_window(problem, {follow(problem, "adam", preset("adam"), problem.start, 0)}).x.high);
  const auto window = trace_window(problem, {path, strayed});
  EXPECT_LT(window.x.low, 1.0);
  EXPECT_GT(window.x.high, 3.0);
  EXPECT_LT(window.x.high, 6.0);
  EXPECT_LT(window.y.low, 0.5);
  EXPECT_GT(window.y.high, 1.0);
  EXPECT_LT(window.y.high, 6.0);
  EXPECT_FALSE(plot::to_svg(trace_figure(problem, {path, strayed})).empty());
}

TEST(Trace, ReportsTheErrorInOneSentence) {
  EXPECT_EQ(run({"trace", "bowl", "--svg", "x.svg"}).err,
            "lehi: --svg: bowl has 3 weights; expected a problem with two weights such as rosenbrock\n");
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam,adam"}).err, "lehi: --optimizers: 'adam' is listed twice\n");
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam[lr=1"}).code, usage_error);
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam[lr]"}).err,
            "lehi: --optimizers: 'lr' in 'adam[lr]' is not of the form key=value\n");
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam[optimizer=sgd]"}).code, usage_error);
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam[speed=9]"}).code, usage_error);
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam[lr=nan]"}).code, usage_error);
  EXPECT_EQ(run({"trace", "beale", "--optimizers", "adam", "--optimizer", "sgd"}).code, usage_error);
  EXPECT_EQ(run({"trace", "beale", "--steps", "1", "--svg", "/no/such/place/x.svg"}).code, bad_input);

  EXPECT_EQ(run({"trace"}).err, "lehi: name a problem; `lehi trace --list` lists them\n");
  EXPECT_EQ(run({"trace", "beale", "--start", "1,2,3"}).err, "lehi: --start: beale has 2 weights, not 3\n");
  EXPECT_THAT(run({"trace", "beale", "--optimizer", "magic"}).err, HasSubstr("unknown optimizer 'magic'"));
}

}  // namespace
}  // namespace lehi::cli
