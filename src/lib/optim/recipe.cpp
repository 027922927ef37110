// The names of a recipe's parts.
#include "lehi/recipe.h"

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

}  // namespace

std::string_view name(Accumulator accumulator) { return name_in(accumulators(), accumulator); }
std::string_view name(Mix mix) { return name_in(mixes(), mix); }
std::string_view name(Rule rule) { return name_in(rules(), rule); }
Accumulator accumulator_from_name(std::string_view name) { return value_in(accumulators(), name, "accumulator"); }
Mix mix_from_name(std::string_view name) { return value_in(mixes(), name, "mix"); }
Rule rule_from_name(std::string_view name) { return value_in(rules(), name, "rule"); }

}  // namespace lehi
