// Options out of range are refused with the value; presets have names, recipes, summaries; describe() says it all.
#include <limits>
#include <set>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

Options changed(Preset kind, const std::function<void(Options&)>& change) {
  Options options = preset(kind);
  change(options);
  return options;
}

void expect_refused(const Options& options, const std::string& name, const std::string& value) {
  SCOPED_TRACE(name + " = " + value);
  const auto weights = fresh(make_problem("logistic", torch::kFloat64).start);
  EXPECT_THROW(check(options), std::invalid_argument);
  EXPECT_THROW(Optimizer(weights, options), std::invalid_argument);
  const auto message = message_of([&] { check(options); });
  EXPECT_NE(message.find(name), std::string::npos) << message;
  EXPECT_NE(message.find(value), std::string::npos) << message;
}

TEST(Options, ANumberOutOfRangeIsRefusedWithItsValue) {
  using P = Preset;
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  expect_refused(changed(P::adam, [](Options& o) { o.group.lr = -0.25; }), "lr", "-0.25");
  expect_refused(changed(P::adam, [=](Options& o) { o.group.lr = nan; }), "lr", "nan");
  expect_refused(changed(P::adam, [=](Options& o) { o.group.lr = infinity; }), "lr", "inf");
  expect_refused(changed(P::adam, [](Options& o) { o.group.beta1 = 1.0; }), "beta1", "1");
  expect_refused(changed(P::lehi, [](Options& o) { o.group.beta1 = -0.5; }), "beta1", "-0.5");
  expect_refused(changed(P::lehi, [](Options& o) { o.group.beta2 = 1.25; }), "beta2", "1.25");
  expect_refused(changed(P::lehi_gn, [=](Options& o) { o.group.beta2 = nan; }), "beta2", "nan");
  expect_refused(changed(P::adam, [](Options& o) { o.group.eps = -0.125; }), "eps", "-0.125");
  expect_refused(changed(P::lehi, [](Options& o) { o.group.eps = 0.0; }), "eps", "0");
  expect_refused(changed(P::adamw, [](Options& o) { o.group.weight_decay = -0.75; }), "weight_decay", "-0.75");
  expect_refused(changed(P::sgd, [](Options& o) { o.group.momentum = 1.5; }), "momentum", "1.5");
  expect_refused(changed(P::rmsprop, [](Options& o) { o.group.momentum = -0.5; }), "momentum", "-0.5");
  expect_refused(changed(P::sgd, [](Options& o) { o.group.dampening = 2.5; }), "dampening", "2.5");
  expect_refused(changed(P::nadam, [](Options& o) { o.group.momentum_decay = -3.0; }), "momentum_decay", "-3");
  expect_refused(changed(P::sophia_g, [](Options& o) { o.group.rho = 0.0; }), "rho", "0");
  expect_refused(changed(P::lehi, [](Options& o) { o.clip_norm = 0.0; }), "clip_norm", "0");
  expect_refused(changed(P::lehi, [](Options& o) { o.clip_norm = -2.0; }), "clip_norm", "-2");
  expect_refused(changed(P::lehi, [](Options& o) { o.recipe.schedule.every = 0; }), "every", "0");
  expect_refused(changed(P::lehi, [](Options& o) { o.recipe.schedule.dense = -4; }), "dense", "-4");
  expect_refused(changed(P::soap, [](Options& o) { o.group.beta3 = 1.0; }), "beta3", "1");
  expect_refused(changed(P::soap, [](Options& o) { o.shapes.largest_side = 1; }), "largest_side", "1");
  expect_refused(changed(P::soap, [](Options& o) { o.recipe.kronecker.basis_every = 0; }), "basis_every", "0");
  expect_refused(changed(P::soap, [](Options& o) { o.recipe.kronecker.step_factor = 0.0; }), "step_factor", "0");
  expect_refused(changed(P::soap, [](Options& o) { o.recipe.kronecker.cost = 0.0; }), "cost", "0");
  expect_refused(changed(P::soap, [=](Options& o) { o.recipe.kronecker.cost = nan; }), "cost", "nan");
  // Finite numbers whose products are not, in float32 or as a count.
  expect_refused(changed(P::adam, [](Options& o) { o.group.lr = 1e300; }), "lr", "1e+300");
  expect_refused(changed(P::adamw, [](Options& o) { o.group.weight_decay = 1e200; }), "weight_decay", "1e+200");
  expect_refused(changed(P::sophia_g, [](Options& o) { o.group.rho = 1e39; }), "rho", "1e+39");
  expect_refused(changed(P::lehi, [](Options& o) { o.recipe.schedule.every = INT64_MAX; }), "every",
                 "9223372036854775807");
}

TEST(Options, NesterovNeedsMomentumAndNoDampening) {
  EXPECT_NE(message_of([] { check(Options(SgdOptions(0.1).nesterov(true))); }).find("nesterov"), std::string::npos);
  EXPECT_NE(message_of([] { check(Options(SgdOptions(0.1).nesterov(true).momentum(0.9).dampening(0.5))); }).find("0.5"),
            std::string::npos);
  EXPECT_NO_THROW(check(Options(SgdOptions(0.1).nesterov(true).momentum(0.9))));
}

TEST(Options, PartsThatDoNotFitTogetherAreRefused) {
  using P = Preset;
  const auto message = [](P kind, const std::function<void(Options&)>& change) {
    return message_of([&] { check(changed(kind, change)); });
  };
  EXPECT_EQ(message(P::lehi_kron, [](Options& o) { o.recipe.schedule.dense = 3; }),
            "schedule.doubling can't be joined with a dense start: set doubling to false");
  EXPECT_EQ(message(P::lehi_kron, [](Options& o) { o.recipe.schedule.alternate = true; }),
            "schedule.doubling can't be joined with alternate: set doubling to false");
  EXPECT_EQ(message(P::lehi_gn, [](Options& o) { o.recipe.mix = Mix::gradient; }),
            "mix gradient leaves the probe to the kronecker shape's factors, but the shape is diagonal");
  EXPECT_EQ(message(P::soap, [](Options& o) { o.recipe.kronecker.factors = FactorSource::probe; }),
            "factors from the probe need a probe, but the probe is the gradient: choose factors gradient");
}

TEST(Options, TheEndsOfEveryRangeAreAllowed) {
  EXPECT_NO_THROW(check(Options(AdamOptions(0.0).betas(0.0, 0.0).eps(0.0).weight_decay(0.0))));
  EXPECT_NO_THROW(check(Options(SgdOptions(0.0).momentum(1.0).dampening(1.0))));
  EXPECT_NO_THROW(check(Options(NadamOptions(0.1).momentum_decay(0.0))));
  EXPECT_NO_THROW(check(Options(LehiOptions(0.1).refresh_every(1, 0))));
}

TEST(Options, TheSpacingOfRefreshesLeavesTheirStartAsItIs) {
  const auto schedule = [](const Options& options) { return options.recipe.schedule; };
  const Schedule kron = schedule(LehiKronOptions().refresh_every(25));
  EXPECT_EQ(kron.every, 25);
  EXPECT_TRUE(kron.doubling);
  const Schedule gn = schedule(LehiGnOptions().refresh_every(25));
  EXPECT_EQ(gn.every, 25);
  EXPECT_EQ(gn.dense, 200);
  const Options dense = LehiKronOptions().doubling(false).refresh_every(25, 5).cost(0.75);
  EXPECT_FALSE(schedule(dense).doubling);
  EXPECT_EQ(schedule(dense).dense, 5);
  EXPECT_EQ(dense.recipe.kronecker.cost, 0.75);
  EXPECT_NO_THROW(check(dense));
  EXPECT_THROW(check(Options(LehiKronOptions().refresh_every(25, 5))), std::invalid_argument);
}

TEST(Options, EveryPresetHasANameARecipeAndASummary) {
  std::set<std::string> names;
  for (const auto kind : all_presets()) {
    const Options options = preset(kind);
    EXPECT_EQ(options.name, name(kind));
    EXPECT_EQ(preset(options.name).recipe.rule, options.recipe.rule);
    EXPECT_FALSE(summary(kind).empty());
    EXPECT_NO_THROW(check(options));
    names.insert(options.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"lehi", "lehibrid", "lehi-gn", "adam-simplified", "adam", "adamw", "amsgrad",
                                          "nadam", "radam", "adagrad", "rmsprop", "sgd", "sophia-g", "lion", "muon",
                                          "soap", "lehi-kron"}));
}

TEST(Options, PresetsAreTheRecipesOfTheDesign) {
  const auto recipe = [](Preset kind) { return preset(kind).recipe; };
  EXPECT_EQ(recipe(Preset::lehi).probe, Probe::imitation);
  EXPECT_EQ(recipe(Preset::lehi).accumulator, Accumulator::running_sum);
  EXPECT_EQ(recipe(Preset::lehi).rule, Rule::adam_simplified);
  EXPECT_EQ(recipe(Preset::lehi).scale, Scale::sqrt_n);
  EXPECT_EQ(recipe(Preset::lehi).schedule.every, 1);
  EXPECT_FALSE(recipe(Preset::lehi).schedule.alternate);
  EXPECT_TRUE(recipe(Preset::lehibrid).schedule.alternate);
  EXPECT_EQ(recipe(Preset::lehi_gn).probe, Probe::gauss_newton);
  EXPECT_EQ(recipe(Preset::lehi_gn).scale, Scale::mean);
  EXPECT_EQ(recipe(Preset::lehi_gn).schedule.every, 10);
  EXPECT_GT(recipe(Preset::lehi_gn).schedule.dense, 0);
  EXPECT_EQ(recipe(Preset::sophia_g).probe, Probe::sampled_label);
  EXPECT_EQ(recipe(Preset::sophia_g).schedule.every, 10);
  EXPECT_EQ(recipe(Preset::sophia_g).schedule.dense, 0);
  for (const auto kind :
       {Preset::adam, Preset::adamw, Preset::amsgrad, Preset::nadam, Preset::radam, Preset::adagrad, Preset::rmsprop,
        Preset::sgd, Preset::adam_simplified, Preset::lion, Preset::muon, Preset::soap, Preset::lehi_kron}) {
    EXPECT_EQ(recipe(kind).probe, Probe::gradient) << name(kind);
  }
  for (const auto kind : all_presets()) {
    const bool kronecker = kind == Preset::soap || kind == Preset::lehi_kron;
    const Shape expected = kind == Preset::muon ? Shape::orthogonal : kronecker ? Shape::kronecker : Shape::diagonal;
    EXPECT_EQ(recipe(kind).shape, expected) << name(kind);
  }
  EXPECT_EQ(recipe(Preset::soap).kronecker.factors, FactorSource::gradient);
  EXPECT_EQ(recipe(Preset::soap).kronecker.basis_every, 10);
  EXPECT_EQ(recipe(Preset::lehi_kron).kronecker.factors, FactorSource::gradient);
  EXPECT_EQ(recipe(Preset::lehi_kron).kronecker.basis_every, 3);
  EXPECT_EQ(recipe(Preset::lehi_kron).kronecker.step_factor, 0.5);
  EXPECT_TRUE(recipe(Preset::lehi_kron).kronecker.square_blocks);
}

TEST(Options, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const auto message = message_of([] { preset("adamax"); });
  EXPECT_NE(message.find("adamax"), std::string::npos) << message;
  EXPECT_NE(message.find("lehi-gn"), std::string::npos) << message;
  EXPECT_NE(message.find("sophia-g"), std::string::npos) << message;
}

TEST(Options, PartsHaveNamesThatReadBack) {
  for (const auto part : {Accumulator::running_sum, Accumulator::ema, Accumulator::ema_max,
                          Accumulator::ema_per_refresh, Accumulator::plain_sum}) {
    EXPECT_EQ(accumulator_from_name(name(part)), part);
  }
  for (const auto part : {Mix::none, Mix::sum, Mix::max, Mix::gradient}) EXPECT_EQ(mix_from_name(name(part)), part);
  for (const auto part : {Rule::adam, Rule::adam_simplified, Rule::nadam, Rule::radam, Rule::sophia, Rule::sgd,
                          Rule::rmsprop, Rule::lion}) {
    EXPECT_EQ(rule_from_name(name(part)), part);
  }
  for (const auto part : {Shape::diagonal, Shape::kronecker, Shape::orthogonal}) {
    EXPECT_EQ(shape_from_name(name(part)), part);
  }
  for (const auto part : {FactorSource::probe, FactorSource::gradient, FactorSource::both, FactorSource::random}) {
    EXPECT_EQ(factors_from_name(name(part)), part);
  }
  for (const auto part : {Sides::automatic, Sides::smaller, Sides::both}) EXPECT_EQ(sides_from_name(name(part)), part);
  EXPECT_NE(message_of([] { rule_from_name("lioness"); }).find("lioness"), std::string::npos);
}

TEST(Options, DescribeNamesEveryPartAndNumber) {
  const auto weights = fresh(make_problem("logistic", torch::kFloat64).start);
  const auto text = Lehi(weights, LehiOptions(0.003).eps(0.015625).weight_decay(0.25)).describe();
  for (const std::string part :
       {"lehi:", "imitation", "every step", "running-sum", "adam-simplified", "sqrt-n", "0.003", "0.015625", "0.25"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  }
  const auto other = LehiGn(weights, LehiGnOptions(0.003).refresh_every(7, 33).clip_norm(0.5)).describe();
  for (const std::string part : {"lehi-gn:", "gauss-newton", "7", "33", "ema", "mean", "0.5"}) {
    EXPECT_NE(other.find(part), std::string::npos) << part << " is not in: " << other;
  }
  const auto kron = LehiKron(weights, LehiKronOptions(0.003)
                                          .probe(Probe::gauss_newton)
                                          .refresh_every(25)
                                          .mix(Mix::max)
                                          .factors(FactorSource::both)
                                          .beta3(0.875)
                                          .sides(Sides::smaller))
                        .describe();
  for (const std::string part : {"lehi-kron:", "25", "(max)", "kronecker", "smaller sides in square blocks",
                                 "from probe and gradient", "bases every 3 steps", "step factor 0.5", "beta3 0.875"}) {
    EXPECT_NE(kron.find(part), std::string::npos) << part << " is not in: " << kron;
  }
  const auto muon = Muon(weights, MuonOptions(0.003)).describe();
  for (const std::string part : {"muon:", "orthogonal shape", "momentum 0.95"}) {
    EXPECT_NE(muon.find(part), std::string::npos) << part << " is not in: " << muon;
  }
}

}  // namespace
}  // namespace lehi::testing
