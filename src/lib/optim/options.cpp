// Ranges and archives of the options.
#include "lehi/options.h"

#include <torch/serialize/archive.h>

#include <cmath>
#include <limits>

#include "runtime/message.h"
#include "runtime/names.h"

namespace lehi {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_range(std::string_view field, double value, double low, double high, std::string_view range) {
  if (!(value >= low && value <= high)) throw_invalid_argument("{} is {}, but must be {}", field, value, range);
}

// The largest double below 1 and the smallest above 0 turn closed intervals into open ones.
const double below_one = std::nextafter(1.0, 0.0);
constexpr double above_zero = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();
// Of rates: their products with each other and with bias corrections, which are below 2^53, stay finite in float32.
constexpr double largest_rate = 1e18;
// Of schedules: their sums stay far from the end of int64.
constexpr std::int64_t most_steps = std::int64_t{1} << 40;

const NameTable<NonFinite>& policies() {
  static const NameTable<NonFinite> table = {
      {NonFinite::throw_error, "throw"}, {NonFinite::skip, "skip"}, {NonFinite::record, "record"}};
  return table;
}

// One list of the saved fields for reading and writing.
template <class Options, class Visit>
void visit_fields(Options& options, Visit&& visit) {
  visit("lr", options.lr);
  visit("beta1", options.beta1);
  visit("beta2", options.beta2);
  visit("eps", options.eps);
  visit("weight_decay", options.weight_decay);
  visit("momentum", options.momentum);
  visit("dampening", options.dampening);
  visit("nesterov", options.nesterov);
  visit("momentum_decay", options.momentum_decay);
  visit("rho", options.rho);
}

}  // namespace

void GroupOptions::serialize(torch::serialize::InputArchive& archive) {
  visit_fields(*this, [&](const char* key, auto& field) {
    c10::IValue value;
    archive.read(key, value);
    field = value.to<std::decay_t<decltype(field)>>();
  });
}

void GroupOptions::serialize(torch::serialize::OutputArchive& archive) const {
  visit_fields(*this, [&](const char* key, const auto& field) { archive.write(key, c10::IValue(field)); });
}

void check(const GroupOptions& options, Rule rule) {
  check_range("lr", options.lr, 0.0, largest_rate, "in [0, 1e18]");
  check_range("beta1", options.beta1, 0.0, below_one, "in [0, 1)");
  check_range("beta2", options.beta2, 0.0, below_one, "in [0, 1)");
  check_range(
      "eps", options.eps, rule == Rule::adam_simplified ? above_zero : 0.0, largest,
      rule == Rule::adam_simplified ? "a finite number > 0 (it stands inside the root)" : "a finite number >= 0");
  check_range("weight_decay", options.weight_decay, 0.0, largest_rate, "in [0, 1e18]");
  check_range("momentum", options.momentum, 0.0, 1.0, "in [0, 1]");
  check_range("dampening", options.dampening, 0.0, 1.0, "in [0, 1]");
  check_range("momentum_decay", options.momentum_decay, 0.0, largest, "a finite number >= 0");
  check_range("rho", options.rho, above_zero, largest_rate, "in (0, 1e18]");
  if (options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0)) {
    throw_invalid_argument("nesterov needs momentum > 0 and dampening 0, but momentum is {} and dampening {}",
                           options.momentum, options.dampening);
  }
}

void check(const Options& options) {
  check(options.group, options.recipe.rule);
  const Schedule& schedule = options.recipe.schedule;
  if (schedule.every < 1 || schedule.every > most_steps) {
    throw_invalid_argument("schedule.every, the refresh spacing, is {}, but must be from 1 to {}", schedule.every,
                           most_steps);
  }
  if (schedule.dense < 0 || schedule.dense > most_steps) {
    throw_invalid_argument("schedule.dense, the dense start, is {}, but must be from 0 to {}", schedule.dense,
                           most_steps);
  }
  if (options.clip_norm) check_range("clip_norm", *options.clip_norm, above_zero, infinity, "> 0");
  if (!options.update_during_pull_back) return;
  constexpr std::string_view why = "weights are updated before the whole gradient is known";
  if (options.clip_norm) throw_invalid_argument("update_during_pull_back can't be joined with clip_norm: {}", why);
  if (options.diagnostics)
    throw_invalid_argument("update_during_pull_back can't be joined with diagnostics: they compare with a copy");
  if (options.non_finite != NonFinite::record) {
    throw_invalid_argument(
        "update_during_pull_back can't be joined with the non-finite policy {}, only with record: {}",
        name(options.non_finite), why);
  }
}

std::string_view name(NonFinite policy) { return name_in(policies(), policy); }
NonFinite non_finite_from_name(std::string_view name) { return value_in(policies(), name, "non-finite policy"); }

}  // namespace lehi
