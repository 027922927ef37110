// The names of a recipe's parts, and the recipe as a string.
#include "lehi/recipe.h"

#include <algorithm>
#include <map>

#include "runtime/names.h"

namespace lehi {
namespace {

const NameTable<Accumulator>& accumulators() {
  static const NameTable<Accumulator> table = {{Accumulator::running_sum, "running-sum"},
                                               {Accumulator::ema, "ema"},
                                               {Accumulator::ema_max, "ema-max"},
                                               {Accumulator::ema_per_refresh, "ema-per-refresh"},
                                               {Accumulator::plain_sum, "plain-sum"}};
  return table;
}

const NameTable<Mix>& mixes() {
  static const NameTable<Mix> table = {
      {Mix::none, "none"}, {Mix::sum, "sum"}, {Mix::max, "max"}, {Mix::gradient, "gradient"}};
  return table;
}

const NameTable<Rule>& rules() {
  static const NameTable<Rule> table = {{Rule::adam, "adam"},       {Rule::adam_simplified, "adam-simplified"},
                                        {Rule::nadam, "nadam"},     {Rule::radam, "radam"},
                                        {Rule::sophia, "sophia"},   {Rule::sgd, "sgd"},
                                        {Rule::rmsprop, "rmsprop"}, {Rule::lion, "lion"}};
  return table;
}

const NameTable<Decay>& decays() {
  static const NameTable<Decay> table = {{Decay::decoupled, "decoupled"}, {Decay::coupled, "coupled"}};
  return table;
}

const NameTable<Shape>& shapes() {
  static const NameTable<Shape> table = {
      {Shape::diagonal, "diagonal"}, {Shape::kronecker, "kronecker"}, {Shape::orthogonal, "orthogonal"}};
  return table;
}

const NameTable<FactorSource>& factor_sources() {
  static const NameTable<FactorSource> table = {{FactorSource::probe, "probe"},
                                                {FactorSource::gradient, "gradient"},
                                                {FactorSource::both, "both"},
                                                {FactorSource::random, "random"}};
  return table;
}

const NameTable<Sides>& side_choices() {
  static const NameTable<Sides> table = {
      {Sides::automatic, "automatic"}, {Sides::smaller, "smaller"}, {Sides::both, "both"}};
  return table;
}

// "key=value key=value" as a map. A word without "=" is a key without a value.
std::map<std::string, std::string> parts_of(std::string_view text) {
  std::map<std::string, std::string> parts;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    const auto equals = std::min(word.find('='), word.size());
    if (!word.empty()) parts.emplace(word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::string_view name(Accumulator accumulator) { return name_in(accumulators(), accumulator); }
std::string_view name(Mix mix) { return name_in(mixes(), mix); }
std::string_view name(Rule rule) { return name_in(rules(), rule); }
std::string_view name(Decay decay) { return name_in(decays(), decay); }
std::string_view name(Shape shape) { return name_in(shapes(), shape); }
std::string_view name(FactorSource source) { return name_in(factor_sources(), source); }
std::string_view name(Sides sides) { return name_in(side_choices(), sides); }
Accumulator accumulator_from_name(std::string_view name) { return value_in(accumulators(), name, "accumulator"); }
Mix mix_from_name(std::string_view name) { return value_in(mixes(), name, "mix"); }
Rule rule_from_name(std::string_view name) { return value_in(rules(), name, "rule"); }
Decay decay_from_name(std::string_view name) { return value_in(decays(), name, "decay"); }
Shape shape_from_name(std::string_view name) { return value_in(shapes(), name, "shape"); }
FactorSource factors_from_name(std::string_view name) { return value_in(factor_sources(), name, "source of factors"); }
Sides sides_from_name(std::string_view name) { return value_in(side_choices(), name, "choice of sides"); }

std::string to_string(const Recipe& recipe) {
  const Schedule& schedule = recipe.schedule;
  const Kronecker& kronecker = recipe.kronecker;
  return fmt::format(
      "probe={} every={} dense={} alternate={} doubling={} accumulator={} mix={} rule={} decay={} scale={} shape={} "
      "factors={} sides={} cost={} square-blocks={} basis-every={} step-factor={}",
      name(recipe.probe), schedule.every, schedule.dense, schedule.alternate ? "yes" : "no",
      schedule.doubling ? "yes" : "no", name(recipe.accumulator), name(recipe.mix), name(recipe.rule),
      name(recipe.decay), name(recipe.scale), name(recipe.shape), name(kronecker.factors), name(kronecker.sides),
      kronecker.cost, kronecker.square_blocks ? "yes" : "no", kronecker.basis_every, kronecker.step_factor);
}

std::string difference(std::string_view saved, const Recipe& recipe) {
  auto there = parts_of(saved);
  there.merge(parts_of(to_string(Recipe{})));  // defaults of parts that an older version did not write
  const auto here = parts_of(to_string(recipe));
  for (const auto& [key, value] : there) {
    const auto found = here.find(key);
    if (found == here.end()) return fmt::format("{}={} there, which this version does not have", key, value);
    if (found->second != value) return fmt::format("{}={} there, {}={} here", key, value, key, found->second);
  }
  return "";
}

}  // namespace lehi
