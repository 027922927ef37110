// The optimizer's state as tensors with names, for checkpoints that outlive a program's order of parameters.
#include <array>
#include <map>
#include <set>

#include "optim/matrix_update.h"
#include "optim/saved_state.h"
#include "optim/updater.h"
#include "plan/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

constexpr std::string_view own_name = "optimizer";

std::string text_of(at::IntArrayRef sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

Tensor letters_of(const std::string& text) {
  return torch::tensor(std::vector<std::uint8_t>(text.begin(), text.end()), torch::kUInt8);
}

Tensor integer(std::int64_t value) { return torch::scalar_tensor(value, torch::kInt64); }

// A state's entries by name, each taken once.
class Entries {
 public:
  explicit Entries(Optimizer::NamedState&& state) {
    for (auto& [name, tensor] : state) {
      if (!tensor.defined()) throw_invalid_argument("the optimizer's state has an undefined tensor as '{}'", name);
      if (!entries_.emplace(name, std::move(tensor)).second)
        throw_invalid_argument("the optimizer's state has '{}' twice", name);
    }
  }

  bool has(const std::string& name) const { return entries_.count(name) > 0; }

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

  /// A string stored letter by letter.
  std::string take_string(const std::string& name) {
    const auto found = entries_.find(name);
    const std::int64_t length = found == entries_.end() ? 0 : found->second.numel();
    const Tensor letters = take(name, {length}, torch::kUInt8).contiguous();
    const auto* first = letters.data_ptr<std::uint8_t>();
    return {first, first + length};
  }

  /// Everything must have been taken.
  void expect_none_left(const std::string& optimizer) const {
    if (entries_.empty()) return;
    throw_invalid_argument("the optimizer's state has '{}', which {} with these parameters does not keep",
                           entries_.begin()->first, optimizer);
  }

 private:
  std::map<std::string, Tensor> entries_;
};

// The prefix of each parameter's entries: its name.
std::vector<std::string> entry_names(const ParameterTable& parameters, const Groups& groups) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t i = 0; i < groups[group].params().size(); ++i) {
      const std::string name = parameters.name(groups[group].params()[i], group, i);
      if (name == own_name) {
        throw_invalid_argument("a parameter is called '{}', which in a named state is the optimizer itself", name);
      }
      if (!seen.insert(name).second) {
        throw_invalid_argument("two parameters are called '{}': a named state cannot tell them apart", name);
      }
      names.push_back(name);
    }
  }
  return names;
}

// A tensor of a parameter's state, with the suffix of its entry.
struct Kept {
  const char* suffix = "";
  Tensor ParameterState::*member = nullptr;
  std::vector<std::int64_t> sizes = {};
};

// What a parameter that has taken a step keeps.
std::vector<Kept> kept_tensors(const Recipe& recipe, const KeptState& state, MatrixState matrix,
                               const Tensor& parameter) {
  std::vector<Kept> kept;
  const auto sizes = parameter.sizes().vec();
  const bool orthogonal = matrix == MatrixState::orthogonal;
  if (state.m || orthogonal) kept.push_back({".m", &ParameterState::m, sizes});
  if (state.v && !orthogonal) kept.push_back({".v", &ParameterState::v, sizes});
  if (state.v_max && !orthogonal) kept.push_back({".v_max", &ParameterState::v_max, sizes});
  const MatrixSize size = matrix_size(parameter);
  if (matrix == MatrixState::left || matrix == MatrixState::both) {
    const auto blocks = factor_sizes(recipe.kronecker, size.rows, size.columns);
    kept.push_back({".left", &ParameterState::left, blocks});
    kept.push_back({".left_basis", &ParameterState::left_basis, blocks});
  }
  if (matrix == MatrixState::right || matrix == MatrixState::both) {
    const auto blocks = factor_sizes(recipe.kronecker, size.columns, size.rows);
    kept.push_back({".right", &ParameterState::right, blocks});
    kept.push_back({".right_basis", &ParameterState::right_basis, blocks});
  }
  return kept;
}

// The matrices' states on rank 0, where the state is divided over ranks and each matrix has one owner.
void gather_matrix_states(const OptimizerParts& parts, const Groups& groups, const States& states,
                          std::map<std::size_t, ParameterState>& gathered) {
  const auto matrices = matrices_of(parts.parameters, states);
  const auto state_of = [&](std::size_t index) { return find_state(states, parts.parameters.tensor(index)); };
  constexpr std::int64_t counts = 3;
  const Tensors numbers = parts.ranks->gather_matrices(
      matrices, [](std::size_t) { return counts; },
      [&](std::size_t index) {
        const ParameterState& state = *state_of(index);
        return torch::tensor(
            {static_cast<double>(state.step), static_cast<double>(state.steps_covered), state.momentum_product},
            torch::kFloat64);
      });
  for (std::size_t i = 0; i < matrices.size() && parts.ranks->rank() == 0; ++i) {
    ParameterState& state = gathered[matrices[i]];
    const auto* number = numbers[i].data_ptr<double>();
    state.matrix = state_of(matrices[i])->matrix;
    state.step = static_cast<std::int64_t>(number[0]);
    state.steps_covered = static_cast<std::int64_t>(number[1]);
    state.momentum_product = number[2];
  }
  // One matrix and tensor at a time: all at once would be a copy of the whole state.
  for (const std::size_t index : matrices) {
    const Tensor& parameter = parts.parameters.tensor(index);
    const KeptState kept = kept_state(parts.options.recipe, group_options(groups, parts.parameters.group_of(index)));
    for (const auto& [suffix, member, sizes] :
         kept_tensors(parts.options.recipe, kept, state_of(index)->matrix, parameter)) {
      const auto length = c10::multiply_integers(sizes);
      const Tensors whole = parts.ranks->gather_matrices(
          {index}, [length](std::size_t) { return length; },
          [&, wanted = member](std::size_t i) { return state_of(i)->*wanted; });
      if (parts.ranks->rank() != 0) continue;
      const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
      gathered[index].*member = whole.front().view(sizes).to(dtype);
    }
  }
}

Tensor zero_entry(const Tensor& parameter, at::IntArrayRef sizes) {
  const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
  return torch::zeros(sizes, parameter.options().dtype(dtype).requires_grad(false));
}

MatrixState take_matrix_state(Entries& entries, const std::string& name, const Tensor& parameter) {
  const std::int64_t value = entries.take_count(name + ".matrix");
  const MatrixSize size = matrix_size(parameter);
  const bool possible =
      value == 0 || (value <= static_cast<std::int64_t>(MatrixState::orthogonal) && size.rows > 1 && size.columns > 1);
  if (possible) return static_cast<MatrixState>(value);
  throw_invalid_argument("the optimizer's state has {} as '{}.matrix'; expected {}", value, name,
                         size.rows > 1 && size.columns > 1 ? "0 to 4" : "0, since the parameter is no matrix");
}

// A basis of zeros stands for one that was not there yet.
void drop_missing_bases(ParameterState& state) {
  for (Tensor* basis : {&state.left_basis, &state.right_basis}) {
    if (basis->defined() && !basis->any().item<bool>()) *basis = Tensor();
  }
}

}  // namespace

void expect_recipe(std::string_view source, const std::string& saved, const Recipe& recipe) {
  if (const auto text = difference(saved, recipe); !text.empty()) {
    throw_invalid_argument("{} was saved with another recipe: {}", source, text);
  }
}

Optimizer::NamedState make_named_state(const OptimizerParts& parts, const Groups& groups, const States& states) {
  Optimizer::NamedState result;
  const Recipe& recipe = parts.options.recipe;
  result.emplace_back("optimizer.step", integer(parts.counter.step));
  result.emplace_back("optimizer.schedule_start", integer(parts.counter.schedule_start));
  result.emplace_back("optimizer.known_parameters", integer(static_cast<std::int64_t>(parts.counter.known_parameters)));
  result.emplace_back("optimizer.recipe", letters_of(to_string(recipe)));
  const bool divided = parts.ranks->divided();
  std::map<std::string, Tensors> whole;  // of the diagonal parameters, by suffix, where the state is divided
  std::map<std::size_t, ParameterState> gathered;
  if (divided) {
    for (const auto& [suffix, moment] : {std::pair{".m", &ParameterState::m}, std::pair{".v", &ParameterState::v},
                                         std::pair{".v_max", &ParameterState::v_max}}) {
      whole[suffix] = parts.ranks->gather([&, member = moment](std::size_t index) {
        const ParameterState* state = find_state(states, parts.parameters.tensor(index));
        return state == nullptr || state->matrix != MatrixState::diagonal ? Tensor() : state->*member;
      });
    }
    gather_matrix_states(parts, groups, states, gathered);
    if (parts.ranks->rank() != 0) return {};
  }
  const auto names = entry_names(parts.parameters, groups);
  std::size_t index = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const KeptState kept = kept_state(recipe, group_options(groups, group));
    for (const Tensor& parameter : groups[group].params()) {
      const std::size_t i = index++;
      const std::string& name = names[i];
      const auto on_owner = gathered.find(i);
      const ParameterState* state = on_owner == gathered.end() ? find_state(states, parameter) : &on_owner->second;
      const bool matrix = state != nullptr && state->matrix != MatrixState::diagonal;
      // A diagonal parameter that has not taken a step has nothing but zeros, if anything; a matrix may have factors.
      const bool started = state != nullptr && (state->step > 0 || matrix);
      result.emplace_back(name + ".step", integer(started ? state->step : 0));
      result.emplace_back(name + ".covered", integer(started ? state->steps_covered : 0));
      if (!started) continue;
      if (recipe.shape != Shape::diagonal) {
        result.emplace_back(name + ".matrix", integer(static_cast<std::int64_t>(state->matrix)));
      }
      for (const auto& [suffix, member, sizes] : kept_tensors(recipe, kept, state->matrix, parameter)) {
        const Tensor& value = divided && !matrix ? whole[suffix][i] : state->*member;
        // Undefined: the rule began to keep it after the last step, with zeros; or there is no basis yet.
        result.emplace_back(name + suffix, value.defined() ? value : zero_entry(parameter, sizes));
      }
      if (kept.momentum_product) {
        result.emplace_back(name + ".momentum_product", torch::scalar_tensor(state->momentum_product, torch::kFloat64));
      }
    }
  }
  return result;
}

void restore_named_state(OptimizerParts& parts, const Groups& groups, States& states, Optimizer::NamedState&& state) {
  const torch::NoGradGuard no_grad;
  // All is read and checked before anything changes.
  Entries entries(std::move(state));
  StepCounter counter;
  counter.step = entries.take_count("optimizer.step");
  counter.schedule_start = entries.take_count("optimizer.schedule_start");
  counter.known_parameters = static_cast<std::size_t>(entries.take_count("optimizer.known_parameters"));
  // Version 0.1 did not save the recipe.
  if (entries.has("optimizer.recipe")) {
    expect_recipe("the optimizer's state", entries.take_string("optimizer.recipe"), parts.options.recipe);
  }
  std::vector<std::pair<Tensor, ParameterState>> restored;
  const auto names = entry_names(parts.parameters, groups);
  std::size_t index = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const KeptState kept = kept_state(parts.options.recipe, group_options(groups, group));
    for (const Tensor& parameter : groups[group].params()) {
      const std::size_t i = index++;
      const std::string& name = names[i];
      ParameterState fresh;
      fresh.step = entries.take_count(name + ".step");
      fresh.steps_covered = entries.take_count(name + ".covered");
      if (entries.has(name + ".matrix")) fresh.matrix = take_matrix_state(entries, name, parameter);
      const bool matrix = fresh.matrix != MatrixState::diagonal;
      if (fresh.step == 0 && !matrix) continue;
      for (const auto& [suffix, member, sizes] : kept_tensors(parts.options.recipe, kept, fresh.matrix, parameter)) {
        const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
        Tensor given = entries.take(name + suffix, sizes, dtype);
        if (matrix && !parts.ranks->owns_matrix(i)) continue;
        const bool as_it_is = given.use_count() == 1 && given.storage().use_count() == 1 && !given.requires_grad() &&
                              given.device() == parameter.device() && given.is_contiguous() &&
                              parameter.is_contiguous();
        if (as_it_is && (matrix || !parts.ranks->divided())) {
          fresh.*member = std::move(given);
        } else if (matrix) {
          fresh.*member = zero_entry(parameter, sizes).copy_(given);
        } else {
          fresh.*member = zero_moment(parameter, i, fresh.matrix, *parts.ranks).copy_(parts.ranks->own_part(given, i));
        }
      }
      drop_missing_bases(fresh);
      if (kept.momentum_product) {
        const auto product = entries.take(name + ".momentum_product", {}, torch::kFloat64).item<double>();
        if (!(product >= 0.0 && product < 1.0)) {
          throw_invalid_argument(
              "the optimizer's state has {} as '{}.momentum_product'; expected a product of numbers in [0, 1)", product,
              name);
        }
        fresh.momentum_product = product;
      }
      restored.emplace_back(parameter, std::move(fresh));
    }
  }
  entries.expect_none_left(parts.options.name);

  states.clear();
  for (auto& [parameter, fresh] : restored) {
    states[compat::state_key(parameter)] = std::make_unique<ParameterState>(std::move(fresh));
  }
  parts.counter = counter;
  parts.micro_batches.discard();
}

Optimizer::NamedState Optimizer::named_state() const { return make_named_state(*parts_, param_groups_, state_); }

void Optimizer::load_named_state(const NamedState& state) { load_named_state(NamedState(state)); }

void Optimizer::load_named_state(NamedState&& state) {
  restore_named_state(*parts_, param_groups_, state_, std::move(state));
}

}  // namespace lehi
