// The optimizer's state as tensors with names, for checkpoints that outlive a program's order of parameters.
#include <array>
#include <map>
#include <set>

#include "lehi/optimizer.h"
#include "optim/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

constexpr std::string_view own_name = "optimizer";

std::string text_of(at::IntArrayRef sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

Tensor integer(std::int64_t value) { return torch::scalar_tensor(value, torch::kInt64); }

// Hands out a state's entries by name, each once, and refuses what does not fit.
class Entries {
 public:
  explicit Entries(Optimizer::NamedState&& state) {
    for (auto& [name, tensor] : state) {
      if (!tensor.defined()) throw_invalid_argument("the optimizer's state has an undefined tensor as '{}'", name);
      if (!entries_.emplace(name, std::move(tensor)).second)
        throw_invalid_argument("the optimizer's state has '{}' twice", name);
    }
  }

  Tensor take(const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw_invalid_argument("the optimizer's state has no '{}'", name);
    if (found->second.sizes() != sizes || found->second.scalar_type() != dtype) {
      throw_invalid_argument("the optimizer's state has '{}' as {} {}; expected {} {}", name,
                             c10::toString(found->second.scalar_type()), text_of(found->second.sizes()),
                             c10::toString(dtype), text_of(sizes));
    }
    Tensor tensor = std::move(found->second);
    entries_.erase(found);
    return tensor;
  }

  std::int64_t take_count(const std::string& name) {
    const auto value = take(name, {}, torch::kInt64).item<std::int64_t>();
    constexpr std::int64_t most = std::int64_t{1} << 60;  // far from where a sum of two would overflow
    if (value < 0 || value > most) {
      throw_invalid_argument("the optimizer's state has {} as '{}'; expected a count, 0 or above", value, name);
    }
    return value;
  }

  /// Everything must have been asked for.
  void expect_none_left(const std::string& optimizer) const {
    if (entries_.empty()) return;
    throw_invalid_argument("the optimizer's state has '{}', which {} with these parameters does not keep",
                           entries_.begin()->first, optimizer);
  }

 private:
  std::map<std::string, Tensor> entries_;
};

// What stands before the dot of a parameter's entries: its name, parameter by parameter.
std::vector<std::string> entry_names(const Optimizer& optimizer) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    for (std::size_t i = 0; i < optimizer.param_groups()[group].params().size(); ++i) {
      const std::string name = optimizer.parameter_name(group, i);
      if (name == own_name)
        throw_invalid_argument("a parameter is called '{}', which in a named state is the optimizer itself", name);
      if (!seen.insert(name).second)
        throw_invalid_argument("two parameters are called '{}': a named state cannot tell them apart", name);
      names.push_back(name);
    }
  }
  return names;
}

using Moment = std::pair<const char*, Tensor ParameterState::*>;

const std::array<Moment, 3> all_moments = {
    {{".m", &ParameterState::m}, {".v", &ParameterState::v}, {".v_max", &ParameterState::v_max}}};

// What a parameter that has taken a step keeps.
std::vector<Moment> kept_moments(const Recipe& recipe, const GroupOptions& group) {
  std::vector<Moment> kept;
  if (keeps_first_moment(recipe, group)) kept.push_back(all_moments[0]);
  if (keeps_curvature(recipe)) kept.push_back(all_moments[1]);
  if (keeps_curvature(recipe) && recipe.accumulator == Accumulator::ema_max) kept.push_back(all_moments[2]);
  return kept;
}

}  // namespace

Optimizer::NamedState Optimizer::named_state() const {
  NamedState result;
  result.emplace_back("optimizer.step", integer(step_));
  result.emplace_back("optimizer.schedule_start", integer(schedule_start_));
  result.emplace_back("optimizer.known_parameters", integer(static_cast<std::int64_t>(known_parameters_)));
  std::map<std::string, Tensors> whole;  // by suffix, where the state is divided
  if (divided()) {
    for (const auto& [suffix, moment] : all_moments) whole[suffix] = whole_moments(moment);
    if (ranks_->rank() != 0) return {};
  }
  const auto names = entry_names(*this);
  std::size_t index = 0;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    for (const Tensor& parameter : param_groups_[group].params()) {
      const std::size_t i = index++;
      const std::string& name = names[i];
      const ParameterState* state = find_state(parameter);
      // A parameter that has not taken a step has nothing but zeros, if anything.
      const bool started = state != nullptr && state->step > 0;
      result.emplace_back(name + ".step", integer(started ? state->step : 0));
      result.emplace_back(name + ".covered", integer(started ? state->covered : 0));
      if (!started) continue;
      for (const auto& [suffix, moment] : kept_moments(options_.recipe, group_options(group))) {
        // Undefined: the rule began to keep it after the last step, with zeros.
        const Tensor& kept = divided() ? whole[suffix][i] : state->*moment;
        result.emplace_back(name + suffix, kept.defined() ? kept : zero_state(parameter, i));
      }
      if (options_.recipe.rule == Rule::nadam) {
        result.emplace_back(name + ".momentum_product", torch::scalar_tensor(state->momentum_product, torch::kFloat64));
      }
    }
  }
  return result;
}

void Optimizer::load_named_state(const NamedState& state) { load_named_state(NamedState(state)); }

void Optimizer::load_named_state(NamedState&& state) {
  const torch::NoGradGuard no_grad;
  // All is read and checked before anything changes.
  Entries entries(std::move(state));
  const std::int64_t step = entries.take_count("optimizer.step");
  const std::int64_t schedule_start = entries.take_count("optimizer.schedule_start");
  const std::int64_t known_parameters = entries.take_count("optimizer.known_parameters");
  std::vector<std::pair<Tensor, ParameterState>> states;
  const auto names = entry_names(*this);
  std::size_t index = 0;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    for (const Tensor& parameter : param_groups_[group].params()) {
      const std::size_t i = index++;
      const std::string& name = names[i];
      ParameterState restored;
      restored.step = entries.take_count(name + ".step");
      restored.covered = entries.take_count(name + ".covered");
      if (restored.step == 0) continue;
      for (const auto& [suffix, moment] : kept_moments(options_.recipe, group_options(group))) {
        const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
        Tensor given = entries.take(name + suffix, parameter.sizes(), dtype);
        const bool as_it_is = given.use_count() == 1 && given.storage().use_count() == 1 && !given.requires_grad() &&
                              given.device() == parameter.device() && given.is_contiguous() &&
                              parameter.is_contiguous();
        const bool take_over = as_it_is && !divided();
        restored.*moment = take_over ? std::move(given) : zero_state(parameter, i).copy_(own_part(given, i));
      }
      if (options_.recipe.rule == Rule::nadam) {
        const auto product = entries.take(name + ".momentum_product", {}, torch::kFloat64).item<double>();
        if (!(product >= 0.0 && product < 1.0)) {
          throw_invalid_argument(
              "the optimizer's state has {} as '{}.momentum_product'; expected a product of numbers in [0, 1)", product,
              name);
        }
        restored.momentum_product = product;
      }
      states.emplace_back(parameter, std::move(restored));
    }
  }
  entries.expect_none_left(options_.name);

  state_.clear();
  for (auto& [parameter, restored] : states) {
    state_[compat::state_key(parameter)] = std::make_unique<ParameterState>(std::move(restored));
  }
  step_ = step;
  schedule_start_ = schedule_start;
  known_parameters_ = static_cast<std::size_t>(known_parameters);
  discard_accumulated();
}

}  // namespace lehi
