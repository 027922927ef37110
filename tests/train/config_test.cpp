// The configuration: layers, keys, files, errors.
#include "train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "lehi/presets.h"
#include "support/support.h"
#include "train/rate.h"
#include "train/scratch.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::Scratch;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ConfigRequest task(std::string name, std::vector<Setting> settings = {}) {
  ConfigRequest request;
  request.task = std::move(name);
  request.settings = std::move(settings);
  return request;
}

/// Sets an environment variable until it is destroyed.
class Variable {
 public:
  Variable(std::string name, const char* value) : name_(std::move(name)) { ::setenv(name_.c_str(), value, 1); }
  Variable(const Variable&) = delete;
  Variable(Variable&&) = delete;
  Variable& operator=(const Variable&) = delete;
  Variable& operator=(Variable&&) = delete;
  ~Variable() { ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

// DESIGN section 6, table of the paper's settings.
TEST(Config, BuiltInTasksHaveThePapersSettings) {
  const auto protein = resolve(task("protein"));
  EXPECT_THAT(protein.model.hidden, ElementsAre(100));
  EXPECT_EQ(protein.epochs, 200);
  EXPECT_EQ(protein.batch_size, 128);
  EXPECT_EQ(protein.judge.window, 10);
  EXPECT_EQ(protein.split, 3);
  EXPECT_EQ(protein.judge.metric, "test_loss");
  EXPECT_EQ(protein.optimizer.name, "lehi");
  EXPECT_EQ(protein.optimizer.group.eps, 1e-7);
  const auto mnist = resolve(task("mnist"));
  EXPECT_THAT(mnist.model.hidden, ElementsAre(50));
  EXPECT_EQ(mnist.epochs, 25);
  EXPECT_EQ(mnist.judge.window, 3);
  EXPECT_EQ(mnist.optimizer.group.eps, 1e-2);
  EXPECT_EQ(mnist.judge.rates.size(), 7U);
  for (const char* name : {"protein", "mnist", "fashion-mnist"}) {
    auto request = task(name);
    request.optimizer = "adamw";
    EXPECT_EQ(resolve(request).optimizer.group.eps, 1e-7) << name;
    EXPECT_EQ(resolve(request).optimizer.group.weight_decay, 1e-2) << name;
    request.preset = "small";
    EXPECT_LT(resolve(request).epochs, 25) << name;
    EXPECT_EQ(resolve(request).optimizer.group.eps, 1e-7) << name;
  }
}

TEST(Config, LaterLayersOverrideEarlierOnes) {
  const Scratch scratch;
  spill(scratch / "mine.toml",
        "[train]\nepochs = 3\n[optimizer]\nlr = 0.5\nbeta1 = 0.8\n"
        "[optimizers.adam]\nlr = 0.25\n[optimizers.lehi]\nlr = 9\n");
  auto request = task("mnist");
  request.optimizer = "adam";
  request.file = scratch / "mine.toml";
  EXPECT_EQ(resolve(request).epochs, 3);
  EXPECT_EQ(resolve(request).optimizer.group.lr,
            0.25);  // the optimizer's own section overrides the general one
  EXPECT_EQ(resolve(request).optimizer.group.beta1, 0.8);
  EXPECT_EQ(resolve(request).optimizer.group.eps, 1e-7);  // the preset's, untouched
  {
    const Variable epochs("LEHI_TRAIN_EPOCHS", "4");
    EXPECT_EQ(resolve(request).epochs, 4);
    request.settings = {{"train.epochs", "5", "--set"}, {"train.epochs", "6", "--epochs"}};
    EXPECT_EQ(resolve(request).epochs, 6);
  }
  request.settings = {{"train.steps", "7", "--steps"}};
  EXPECT_EQ(resolve(request).steps, 7);
  EXPECT_EQ(resolve(request).epochs, 0);  // setting one unsets the other
}

TEST(Config, TheLastLayerThatNamesAnOptimizerChoosesIt) {
  EXPECT_EQ(resolve(task("mnist", {{"optimizer.name", "adam", "--optimizer"}})).optimizer.group.lr, 3e-4);
  const Variable name("LEHI_OPTIMIZER_NAME", "sgd");
  EXPECT_EQ(resolve(task("mnist")).optimizer.name, "sgd");
  EXPECT_EQ(resolve(task("mnist")).optimizer.recipe.rule, Rule::sgd);
}

TEST(Config, IsTheSameAfterWritingAndReading) {
  auto config = resolve(task("mnist", {{"optimizer.name", "lehi-gn", "--optimizer"},
                                       {"optimizer.lr", "0.1", "--lr"},
                                       {"optimizer.clip_norm", "1.5", "--set"},
                                       {"optimizer.mix", "max", "--set"},
                                       {"rate.schedule", "cosine", "--set"},
                                       {"model.hidden", "[3, 4]", "--set"},
                                       {"seed", "17", "--seed"}}));
  config.target = "a \"quoted\" \\ name\n\t\x7f";
  const auto text = to_toml(config);
  const auto back = from_toml(text, "config.toml");
  EXPECT_EQ(to_toml(back), text);
  EXPECT_EQ(back.target, config.target);
  EXPECT_EQ(back.optimizer.clip_norm, 1.5);
  EXPECT_EQ(back.optimizer.seed, 17U);
  EXPECT_EQ(back.optimizer.recipe.mix, Mix::max);
  EXPECT_EQ(back.rate.shape, RateShape::cosine);
  EXPECT_EQ(difference(config, back), "");
  for (const Preset which : all_presets()) {
    const auto own = resolve(task("protein", {{"optimizer.name", std::string(name(which)), "--optimizer"}}));
    EXPECT_EQ(to_toml(from_toml(to_toml(own), "x")), to_toml(own));
  }
}

TEST(Config, DifferenceNamesTheKey) {
  const auto one = resolve(task("mnist"));
  EXPECT_EQ(difference(one, resolve(task("mnist", {{"optimizer.lr", "1", "--lr"}}))),
            "optimizer.lr is 0.003 there and 1.0 here");
  EXPECT_EQ(difference(one, resolve(task("mnist", {{"checkpoint.keep", "9", "--keep"}}))), "");
}

TEST(Config, MistakesOnTheCommandLineThrow) {
  const auto message = [](const ConfigRequest& request) { return message_of([&] { resolve(request); }); };
  EXPECT_THAT(message(task("mnits")),
              AllOf(HasSubstr("no task 'mnits'"),
                    HasSubstr("cifar10, cifar100, fashion-mnist, fineweb-edu, mnist, protein, ptb")));
  EXPECT_THAT(message(task("mnist", {{"optimizer.name", "adan", "--optimizer"}})),
              AllOf(HasSubstr("--optimizer"), HasSubstr("unknown optimizer 'adan'")));
  EXPECT_THAT(message(task("mnist", {{"train.epoch", "1", "--set"}})), HasSubstr("no key 'train.epoch'"));
  EXPECT_THAT(message(task("mnist", {{"optimizer.lr", "-1", "--lr"}})), HasSubstr("lr is -1"));
  EXPECT_THAT(message(task("mnist", {{"optimizer.lr", "fast", "--lr"}})),
              AllOf(HasSubstr("--lr"), HasSubstr("not a finite number")));
  EXPECT_THAT(message(task("mnist", {{"optimizer.lr", "nan", "--lr"}})), HasSubstr("not a finite number"));
  EXPECT_THAT(message(task("mnist", {{"train.epochs", "1.5", "--epochs"}})), HasSubstr("not a whole number"));
  EXPECT_THAT(message(task("mnist", {{"train.epochs", "0", "--epochs"}})), HasSubstr("both 0"));
  EXPECT_THAT(message(task("mnist", {{"train.batch_size", "0", "--batch-size"}})), HasSubstr("at least 1"));
  EXPECT_THAT(message(task("mnist", {{"model.hidden", "[0]", "--set"}})), HasSubstr("model.hidden"));
  EXPECT_THAT(message(task("mnist", {{"data.validation", "1", "--set"}})), HasSubstr("in [0, 1)"));
  EXPECT_THAT(message(task("mnist", {{"rate.schedule", "cubic", "--set"}})),
              HasSubstr("constant, linear, cosine, wsd"));
  auto request = task("mnist");
  request.preset = "huge";
  EXPECT_THAT(message(request), HasSubstr("it has paper, small"));
  EXPECT_THAT(message_of([] { parse_setting("lr"); }), HasSubstr("expected key=value"));
  EXPECT_THAT(message_of([] { parse_setting("task=mnist"); }), HasSubstr("argument of its own"));
}

TEST(Config, MistakesInAFileThrowWithItsLine) {
  const Scratch scratch;
  auto request = task("mnist");
  request.file = scratch / "mine.toml";
  const auto message = [&](const char* text) {
    spill(request.file, text);
    try {
      resolve(request);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no ConfigError");
  };
  EXPECT_THAT(message("[train]\nepochs = \n"), HasSubstr("mine.toml, line 2"));
  EXPECT_THAT(message("[train]\nepochs = 1\nepoch = 2\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("no key 'train.epoch'")));
  EXPECT_THAT(message("[optimizers.adan]\nlr = 1\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("unknown optimizer 'adan'")));
  EXPECT_THAT(message("[optimizer]\nlr = -1\n"), AllOf(HasSubstr("mine.toml"), HasSubstr("lr is -1")));
  EXPECT_THAT(message("[optimizer]\nlr = \"1\"\n"), HasSubstr("not a finite number"));
  request.file = scratch / "missing.toml";
  EXPECT_THAT(message_of([&] { resolve(request); }), HasSubstr("missing.toml"));
}

TEST(Config, ADamagedConfigTomlThrows) {
  const auto text = to_toml(resolve(task("mnist")));
  const auto message = [](const std::string& damaged) {
    return message_of([&] { from_toml(damaged, "config.toml"); });
  };
  EXPECT_THAT(message(text.substr(0, text.size() / 2)), HasSubstr("config.toml"));
  EXPECT_THAT(message(text + "more = 1\n"), HasSubstr("no key 'judge.more'"));
  EXPECT_THAT(message(""), HasSubstr("the key task is missing"));
}

TEST(OptimizerChoice, IsANameWithChangedKeys) {
  const auto plain = parse_optimizer_choice("adam");
  EXPECT_EQ(plain.name, "adam");
  EXPECT_TRUE(plain.settings.empty());
  const auto changed = parse_optimizer_choice("lehi-gn[mix=max,refresh_every=1]");
  EXPECT_EQ(changed.name, "lehi-gn");
  ASSERT_EQ(changed.settings.size(), 2U);
  EXPECT_EQ(changed.settings[1].key, "optimizer.refresh_every");
  EXPECT_EQ(changed.settings[1].value, "1");
  EXPECT_THAT(message_of([] { parse_optimizer_choice("lehi-gn[mix"); }), HasSubstr("NAME[key=value,...]"));
  EXPECT_THAT(message_of([] { parse_optimizer_choice("adan"); }), HasSubstr("unknown optimizer"));
  EXPECT_THAT(message_of([] { parse_optimizer_choice("adam[speed=1]"); }), HasSubstr("no key 'optimizer.speed'"));
}

// The same settings as keys and in C++.
TEST(OptimizerChoice, HasTheRecipeOfTheSameSettersInCpp) {
  const auto recipe_of_keys = [](const std::string& text) {
    const auto choice = parse_optimizer_choice(text);
    auto request = task("mnist", choice.settings);
    request.optimizer = choice.name;
    return to_string(resolve(request).optimizer.recipe);
  };
  const auto recipe = [](const Options& options) { return to_string(options.recipe); };
  EXPECT_EQ(
      recipe_of_keys("lehi-kron[probe=gauss-newton,refresh_every=25,factors=both,mix=max]"),
      recipe(LehiKronOptions().probe(Probe::gauss_newton).refresh_every(25).factors(FactorSource::both).mix(Mix::max)));
  EXPECT_EQ(recipe_of_keys("lehi-kron[doubling=false,refresh_every=7,dense=3,cost=0.25,basis_every=5]"),
            recipe(LehiKronOptions().doubling(false).refresh_every(7, 3).cost(0.25).basis_every(5)));
  EXPECT_EQ(recipe_of_keys("lehi-gn[refresh_every=7]"), recipe(LehiGnOptions().refresh_every(7)));
  EXPECT_THAT(message_of([&] { recipe_of_keys("lehi-kron[dense=3]"); }), HasSubstr("set doubling to false"));
}

TEST(Rate, FollowsItsShape) {
  constexpr std::int64_t total = 100;
  const auto at = [](RateSchedule schedule, std::int64_t step) { return rate_fraction(schedule, step, total); };
  EXPECT_EQ(at({}, 1), 1.0);
  EXPECT_EQ(at({}, total), 1.0);
  // Warm-up: 1/5, 2/5, ..., 4/5, then 1.
  const RateSchedule warm{.warmup = 4};
  EXPECT_DOUBLE_EQ(at(warm, 1), 0.2);
  EXPECT_DOUBLE_EQ(at(warm, 4), 0.8);
  EXPECT_DOUBLE_EQ(at(warm, 5), 1.0);
  const RateSchedule line{.shape = RateShape::linear};
  EXPECT_DOUBLE_EQ(at(line, 1), 1.0);
  EXPECT_DOUBLE_EQ(at(line, 51), 0.5);
  EXPECT_NEAR(at(line, total), 0.01, 1e-12);
  const RateSchedule cosine{.shape = RateShape::cosine, .floor = 0.1};
  EXPECT_DOUBLE_EQ(at(cosine, 1), 1.0);
  EXPECT_NEAR(at(cosine, 51), 0.55, 1e-12);
  EXPECT_NEAR(at(cosine, 26), 0.1 + 0.9 * (0.5 + std::sqrt(0.125)), 1e-12);
  const RateSchedule stable{.shape = RateShape::wsd, .warmup = 0, .decay = 0.5};
  EXPECT_DOUBLE_EQ(at(stable, 50), 1.0);
  EXPECT_DOUBLE_EQ(at(stable, 76), 0.5);
  for (const RateShape shape : {RateShape::constant, RateShape::linear, RateShape::cosine, RateShape::wsd}) {
    EXPECT_EQ(rate_shape_from_name(name(shape)), shape);
    for (std::int64_t step = 2; step <= total; ++step)
      EXPECT_LE(at({.shape = shape}, step), at({.shape = shape}, step - 1));
  }
}

}  // namespace
}  // namespace lehi::train
