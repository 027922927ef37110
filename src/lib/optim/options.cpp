// Ranges and archives of the options.
#include "lehi/options.h"

#include <torch/serialize/archive.h>

#include <limits>

#include "plan/ranges.h"
#include "runtime/names.h"

namespace lehi {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
  visit("beta3", options.beta3);
  visit("diagonal", options.diagonal);
}

}  // namespace

void GroupOptions::serialize(torch::serialize::InputArchive& archive) {
  visit_fields(*this, [&](const char* key, auto& field) {
    c10::IValue value;
    const bool since_0_2 = std::string_view(key) == "beta3" || std::string_view(key) == "diagonal";
    if (!since_0_2) {
      archive.read(key, value);
    } else if (!archive.try_read(key, value)) {
      return;
    }
    field = value.to<std::decay_t<decltype(field)>>();
  });
}

void GroupOptions::serialize(torch::serialize::OutputArchive& archive) const {
  visit_fields(*this, [&](const char* key, const auto& field) { archive.write(key, c10::IValue(field)); });
}

void check(const Options& options) {
  check(options.group, options.recipe.rule);
  check(options.recipe);
  if (options.shapes.largest_side < 2) {
    throw_invalid_argument("shapes.largest_side is {}, but must be at least 2", options.shapes.largest_side);
  }
  if (options.clip_norm) check_range("clip_norm", *options.clip_norm, above_zero, infinity, "> 0");
  if (!options.update_during_pull_back) return;
  constexpr std::string_view why = "weights are updated before the whole gradient is known";
  if (options.clip_norm) throw_invalid_argument("update_during_pull_back can't be joined with clip_norm: {}", why);
  if (options.diagnostics) {
    throw_invalid_argument("update_during_pull_back can't be joined with diagnostics: they compare with a copy");
  }
  if (options.non_finite != NonFinite::record) {
    throw_invalid_argument(
        "update_during_pull_back can't be joined with the non-finite policy {}, only with record: {}",
        name(options.non_finite), why);
  }
}

Options preset(Preset which) {
  Options options;
  options.name = name(which);
  options.recipe = recipe_of(which);
  options.group = GroupOptions(hyperparameters_of(which));
  return options;
}

Options preset(std::string_view name) { return preset(preset_from_name(name)); }

std::string_view name(NonFinite policy) { return name_in(policies(), policy); }
NonFinite non_finite_from_name(std::string_view name) { return value_in(policies(), name, "non-finite policy"); }

}  // namespace lehi
