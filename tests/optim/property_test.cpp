// Every rule, accumulator, mix and schedule with random numbers, on random g and s, dtypes, shapes and memory layouts,
// against the plain version; and what must hold whatever they are.
#include "support/property.h"

#include <fmt/format.h>

#include "optim/fixtures.h"
#include "optim/plain_rules.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

const std::vector<Rule> every_rule = {Rule::adam, Rule::adam_simplified, Rule::nadam, Rule::radam, Rule::sophia,
                                      Rule::sgd,  Rule::rmsprop,         Rule::lion};
const std::vector<Accumulator> every_accumulator = {Accumulator::ema, Accumulator::running_sum, Accumulator::ema_max,
                                                    Accumulator::ema_per_refresh, Accumulator::plain_sum};

Recipe draw_recipe() {
  Recipe recipe;
  recipe.rule = draw_one("rule", every_rule);
  recipe.accumulator = draw_one("accumulator", every_accumulator);
  recipe.probe = draw_one("probe", std::vector{Probe::gradient, Probe::diagonal});
  recipe.mix = draw_one("mix", std::vector{Mix::none, Mix::sum, Mix::max});
  recipe.schedule.every = draw("every", 1, 3);
  recipe.schedule.doubling = draw("doubling", 0, 3) == 3;
  if (recipe.schedule.doubling) {
    recipe.schedule.every = draw("every, doubling", 1, 6);
    return recipe;
  }
  recipe.schedule.dense = draw("dense", 0, 2);
  recipe.schedule.alternate = draw("alternate", 0, 1) == 1;
  return recipe;
}

GroupOptions draw_group(Rule rule) {
  GroupOptions group;
  group.lr = draw_one<double>("lr", {0.01, 0.0, 1.0, 1e-6});
  group.beta1 = draw_one<double>("beta1", {0.9, 0.0, 0.5, 0.999});
  group.beta2 = draw_one<double>("beta2", {0.999, 0.0, 0.5, 0.99});
  group.eps = draw_one<double>("eps", {1e-8, 1e-2, 1.0, rule == Rule::adam_simplified ? 1e-4 : 0.0});
  group.weight_decay = draw_one<double>("weight decay", {0.0, 0.1});
  group.momentum = draw_one<double>("momentum", {0.0, 0.5, 1.0});
  group.nesterov = group.momentum > 0.0 && draw("nesterov", 0, 1) == 1;
  group.dampening = group.nesterov ? 0.0 : draw_one<double>("dampening", {0.0, 0.5, 1.0});
  group.momentum_decay = draw_one<double>("momentum decay", {4e-3, 0.0, 10.0});
  group.rho = draw_one<double>("rho", {0.05, 1.0, 1e-3});
  return group;
}

// g and s of a step as they are given here, one pair a parameter; an undefined g: the parameter takes no part.
struct Script {
  std::vector<Tensor> g;
  std::vector<Tensor> s;
};

// One row, so that nothing is scaled: g and s arrive as they are.
void take_scripted_step(Optimizer& optimizer, const Weights& parameters, const Script& script) {
  Differentiable network;
  network.predictions = torch::zeros({1}, torch::kFloat64);
  network.pull_back = [&](const std::vector<Tensor>& cotangents, const Differentiable::Deliver& deliver) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!script.g[i].defined()) continue;
      if (cotangents.size() == 1) {
        deliver(parameters[i], {script.g[i]});
      } else {
        deliver(parameters[i], {script.g[i], script.s[i]});
      }
    }
  };
  optimizer.step(network, MeanSquaredError(), torch::zeros({1}, torch::kFloat64));
}

std::vector<std::int64_t> draw_shape(const std::string& name) {
  return draw_one<std::vector<std::int64_t>>(name, {{1}, {}, {7}, {3, 5}, {0, 4}, {2, 3, 4, 2}, {67}});
}

const std::vector<Layout> weight_layouts = {Layout::contiguous, Layout::misaligned, Layout::transposed, Layout::sliced};

Tensor as_weight(const Tensor& values, Layout layout) {
  return values.dim() == 0 || values.numel() == 0 ? values : laid_out(values, layout);
}

std::string rule_property() {
  Options options;
  options.recipe = draw_recipe();
  options.group = draw_group(options.recipe.rule);
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat64, torch::kFloat32});
  const auto shape = draw_shape("shape");
  const std::int64_t steps = draw("steps", 1, 7);
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const auto entries = [&](const char* name) {
    return random_entries(draw_one(name, tame_entries), shape, dtype, 1.0);
  };
  const Tensor w = as_weight(entries("weights"), draw_one("layout", weight_layouts));
  std::vector<PlainWeight> plain(static_cast<std::size_t>(w.numel()));
  const auto numbers = [](const Tensor& tensor) {
    const Tensor wide = tensor.to(torch::kFloat64).contiguous();
    return std::vector<double>(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  };
  const auto start = numbers(w);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i].w = start[i];
    plain[i].size = std::abs(start[i]);
  }
  Optimizer optimizer(Weights{w}, options);
  PlainCounts counts;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Script script = {{as_weight(entries("g"), draw_one("layout of g", weight_layouts))}, {entries("s")}};
    take_scripted_step(optimizer, {w}, script);
    const PlainRefresh refresh = plain_refresh(options.recipe, step);
    ++counts.k;
    if (refresh.due) counts.t += refresh.covers;
    const auto k = static_cast<double>(counts.k);
    counts.momentum_product *= options.group.beta1 * (1.0 - 0.5 * std::pow(0.96, k * options.group.momentum_decay));
    const auto g = numbers(script.g[0]);
    const auto s = numbers(script.s[0]);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      plain_step(options.recipe, options.group, refresh, counts, g[i], s[i], plain[i]);
    }
  }
  // float64: scalars like 1 - beta^k lose three digits, and are made in another order here. float32: a unit in the last
  // place of each of some ten operations a step.
  const double tolerance = dtype == torch::kFloat64 ? 1e-11 : 1e-5;
  const auto found = numbers(w);
  const ParameterState* state = optimizer.find_state(w);
  for (const Tensor& kept : {state->m, state->v, state->v_max}) {
    if (kept.defined() && kept.scalar_type() != dtype) return "the state has another dtype";
  }
  const auto m = state->m.defined() ? numbers(state->m) : std::vector<double>();
  const auto v = state->v.defined() ? numbers(state->v) : std::vector<double>();
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (!(std::abs(found[i] - plain[i].w) <= tolerance * plain[i].size)) {
      return fmt::format("weight {} is {}, expected {}, of size {}", i, found[i], plain[i].w, plain[i].size);
    }
    if (!m.empty() && !(std::abs(m[i] - plain[i].m) <= tolerance * plain[i].m_size)) {
      return fmt::format("m {} is {}, expected {}, of size {}", i, m[i], plain[i].m, plain[i].m_size);
    }
    if (!v.empty() && !(std::abs(v[i] - plain[i].v) <= tolerance * plain[i].v)) {
      return fmt::format("v {} is {}, expected {}", i, v[i], plain[i].v);
    }
  }
  return "";
}

TEST(OptimizerProperties, EveryRecipeTakesItsEquationsSteps) { expect_always(1000, rule_property); }

// Entries of any size: a step is taken with finite numbers, or refused by name before anything has changed.
std::string extreme_property() {
  Options options;
  options.recipe = draw_recipe();
  options.group = draw_group(options.recipe.rule);
  const auto dtype =
      draw_one("dtype", std::vector{torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kFloat16});
  const bool half = dtype == torch::kBFloat16 || dtype == torch::kFloat16;
  const auto shape = draw_shape("shape");
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  // Steps of this size over the least eps stay within the dtype; without eps nothing bounds what m is divided by.
  const bool short_range = dtype == torch::kFloat16;
  const double most = dtype == torch::kFloat64 ? 1e200 : 1e25;
  options.group.eps = std::max(options.group.eps, short_range ? 1e-2 : 1e-8);
  const std::vector<Entries> kinds =
      short_range ? std::vector{Entries::normal, Entries::zeros, Entries::ties, Entries::subnormal, Entries::tiny}
                  : all_entries;
  const auto entries = [&](const char* name) { return random_entries(draw_one(name, kinds), shape, dtype, most); };
  const Tensor w = as_weight(random_entries(Entries::normal, shape, dtype, 1.0), draw_one("layout", weight_layouts));
  Optimizer optimizer(Weights{w}, options);
  for (std::int64_t step = 1; step <= 4; ++step) {
    const Script script = {{entries("g")}, {entries("s")}};
    const Tensor before = w.clone();
    const std::int64_t taken = optimizer.steps();
    try {
      take_scripted_step(optimizer, {w}, script);
    } catch (const NonFiniteError& error) {
      if (!same_bits(w, before) || optimizer.steps() != taken) return "a refused step changed something";
      const std::string text = error.what();
      if (text.find("parameter 0 of group 0 is too large") == std::string::npos) return "it says: " + text;
      continue;
    }
    if (!torch::isfinite(w).all().item<bool>()) return "a weight is not finite";
    const ParameterState* state = optimizer.find_state(w);
    for (const Tensor& kept : {state->m, state->v, state->v_max}) {
      if (!kept.defined()) continue;
      if (!torch::isfinite(kept).all().item<bool>()) return "the state is not finite";
      if (kept.scalar_type() != (half ? torch::kFloat32 : dtype)) return "the state has another dtype";
    }
    if (state->v.defined() && (state->v < 0.0).any().item<bool>()) return "a square is negative";
  }
  return "";
}

TEST(OptimizerProperties, NoEntriesMakeAStepThatIsNotFinite) { expect_always(600, extreme_property); }

// Parameters in any order, in any groups, empty ones among them, some without a gradient: each takes the steps that it
// takes alone, to the bit. (Stochastic rounding draws by a parameter's position among all.)
std::string order_property() {
  const auto presets = lively_presets();
  const auto last = static_cast<std::int64_t>(presets.size()) - 1;
  auto options = presets[static_cast<std::size_t>(draw("preset", 0, last))];
  options.rounding = Rounding::nearest;
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat64, torch::kFloat32, torch::kBFloat16});
  const std::int64_t count = draw("parameters", 1, 5);
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  Weights start;
  std::vector<std::int64_t> group_of;
  std::vector<bool> used;
  for (std::int64_t i = 0; i < count; ++i) {
    start.push_back(random_entries(Entries::normal, draw_shape("shape"), dtype, 1.0));
    group_of.push_back(draw("group", 0, 2));
    used.push_back(draw("unused", 0, 3) != 3);
  }
  std::vector<Script> scripts(3);
  for (Script& script : scripts) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      script.g.push_back(used[i] ? torch::randn(start[i].sizes(), dtype) : Tensor());
      script.s.push_back(torch::randn(start[i].sizes(), dtype));
    }
  }
  const bool any = std::find(used.begin(), used.end(), true) != used.end();
  if (!any) return "";
  // Together: three groups, of which some may be empty, and the parameters of each from last to first.
  const Weights together = fresh(start);
  std::vector<Weights> groups(3);
  for (std::size_t i = start.size(); i-- > 0;) groups[static_cast<std::size_t>(group_of[i])].push_back(together[i]);
  Optimizer joint(groups_of(groups), options);
  for (const Script& script : scripts) take_scripted_step(joint, together, script);
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (!used[i]) {
      if (!same_bits(together[i], start[i])) return fmt::format("parameter {} moved without a gradient", i);
      continue;
    }
    const Weights own = fresh({start[i]});
    Optimizer alone(own, options);
    for (const Script& script : scripts) take_scripted_step(alone, own, {{script.g[i]}, {script.s[i]}});
    if (!same_bits(own[0], together[i])) return fmt::format("parameter {} takes other steps alone", i);
  }
  return "";
}

TEST(OptimizerProperties, OrderAndGroupsOfParametersChangeNoBit) { expect_always(200, order_property); }

// Without eps, rules that divide by a root do not see the scale of the loss; powers of two change no bit of a quotient.
std::string scale_property() {
  Options options;
  options.recipe = draw_recipe();
  options.recipe.rule = draw_one("dividing rule", std::vector{Rule::adam, Rule::nadam, Rule::rmsprop});
  options.group = draw_group(options.recipe.rule);
  options.group.eps = 0.0;
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat64, torch::kFloat32});
  const double factor = std::ldexp(1.0, static_cast<int>(draw("exponent", -15, 15)));
  torch::manual_seed(static_cast<std::uint64_t>(draw("seed", 0, 1000000)));
  const Tensor w = random_entries(Entries::normal, {9}, dtype, 1.0);
  const Tensor scaled = w.clone();
  Optimizer one(Weights{w}, options);
  Optimizer other(Weights{scaled}, options);
  for (int step = 0; step < 4; ++step) {
    const auto kind = draw_one("entries", std::vector{Entries::normal, Entries::zeros, Entries::ties});
    const Tensor g = random_entries(kind, {9}, dtype, 1.0);
    const Tensor s = random_entries(kind, {9}, dtype, 1.0);
    take_scripted_step(one, {w}, {{g}, {s}});
    take_scripted_step(other, {scaled}, {{g * factor}, {s * factor}});
  }
  return same_bits(w, scaled) ? "" : fmt::format("gradients times {} take other steps", factor);
}

TEST(OptimizerProperties, WithoutEpsTheScaleOfTheLossChangesNoBit) { expect_always(200, scale_property); }

// Any numbers as options: refused with one sentence that names the number, or good for a finite step.
std::string options_property() {
  const double one_below = std::nextafter(1.0, 0.0);
  const std::vector<double> numbers = {
      0.0,       0.5,         1e-8,   1e-3,    one_below, 1.0,  std::nextafter(1.0, 2.0),
      -0.0,      5e-324,      1e-300, 1e-45,   3.0,       1e10, 1e18,
      1e19,      3.5e38,      1e300,  1.7e308, -1e-300,   -1.0, HUGE_VAL,
      -HUGE_VAL, std::nan("")};
  Options options;
  options.recipe = draw_recipe();
  GroupOptions& group = options.group;
  struct Field {
    const char* name;
    double* value;
  };
  for (const Field& field : std::vector<Field>{{"lr", &group.lr},
                                               {"beta1", &group.beta1},
                                               {"beta2", &group.beta2},
                                               {"eps", &group.eps},
                                               {"weight_decay", &group.weight_decay},
                                               {"momentum", &group.momentum},
                                               {"dampening", &group.dampening},
                                               {"momentum_decay", &group.momentum_decay},
                                               {"rho", &group.rho}}) {
    // Mostly numbers in range, or else one would always be out of it.
    if (draw(std::string("wild ") + field.name, 0, 3) == 3) *field.value = draw_one(field.name, numbers);
  }
  group.nesterov = draw("nesterov", 0, 1) == 1;
  options.recipe.schedule.every = draw_one<std::int64_t>("every", {1, 2, 1LL << 40, 0, -1, INT64_MAX, INT64_MIN});
  options.recipe.schedule.dense = draw_one<std::int64_t>("dense", {0, 1, 1LL << 40, -1, INT64_MAX, INT64_MIN});
  const auto dtype = draw_one("dtype", std::vector{torch::kFloat32, torch::kFloat64});
  const auto message = message_of([&] { check(options); });
  if (!message.empty()) {
    if (message.find('\n') != std::string::npos) return message;
    bool refused = false;
    try {
      const Optimizer optimizer(Weights{torch::ones({1}, dtype)}, options);
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    return refused ? "" : "check() refuses what the constructor takes: " + message;
  }
  const Tensor w = torch::tensor({1.0, -0.5, 0.0, 2.0}, dtype);
  Optimizer optimizer(Weights{w}, options);
  take_scripted_step(optimizer, {w},
                     {{torch::tensor({1.0, 0.0, 1e-3, -2.0}, dtype)}, {torch::tensor({0.0, 0.0, 1.0, 0.5}, dtype)}});
  if (!torch::isfinite(w).all().item<bool>()) {
    std::ostringstream values;
    values << w;
    return "one step leads to " + values.str() + " with " + optimizer.describe();
  }
  return "";
}

TEST(OptimizerProperties, AnyOptionsAreRefusedOrGoodForAStep) { expect_always(1000, options_property); }

}  // namespace
}  // namespace lehi::testing
