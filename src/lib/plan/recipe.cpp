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
  static const NameTable<Mix> table = {{Mix::none, "none"}, {Mix::sum, "sum"}, {Mix::max, "max"}};
  return table;
}

const NameTable<Rule>& rules() {
  static const NameTable<Rule> table = {{Rule::adam, "adam"},      {Rule::adam_simplified, "adam-simplified"},
                                        {Rule::nadam, "nadam"},    {Rule::radam, "radam"},
                                        {Rule::sophia, "sophia"},  {Rule::sgd, "sgd"},
                                        {Rule::rmsprop, "rmsprop"}};
  return table;
}

const NameTable<Decay>& decays() {
  static const NameTable<Decay> table = {{Decay::decoupled, "decoupled"}, {Decay::coupled, "coupled"}};
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
Accumulator accumulator_from_name(std::string_view name) { return value_in(accumulators(), name, "accumulator"); }
Mix mix_from_name(std::string_view name) { return value_in(mixes(), name, "mix"); }
Rule rule_from_name(std::string_view name) { return value_in(rules(), name, "rule"); }
Decay decay_from_name(std::string_view name) { return value_in(decays(), name, "decay"); }

std::string to_string(const Recipe& recipe) {
  const Schedule& schedule = recipe.schedule;
  return fmt::format("probe={} every={} dense={} alternate={} accumulator={} mix={} rule={} decay={} scale={}",
                     name(recipe.probe), schedule.every, schedule.dense, schedule.alternate ? "yes" : "no",
                     name(recipe.accumulator), name(recipe.mix), name(recipe.rule), name(recipe.decay),
                     name(recipe.scale));
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
