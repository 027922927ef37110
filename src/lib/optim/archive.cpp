// An optimizer in torch's archives.
#include <torch/serialize/archive.h>

#include "lehi/torch_compat.h"
#include "optim/matrix_update.h"
#include "optim/saved_state.h"
#include "optim/updater.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

void ParameterState::serialize(torch::serialize::InputArchive& archive) {
  c10::IValue value;
  archive.read("step", value);
  step = value.toInt();
  archive.read("covered", value);
  steps_covered = value.toInt();
  archive.read("momentum_product", value);
  momentum_product = value.toDouble();
  // A tensor that was undefined when saved is absent.
  archive.try_read("m", m, /*is_buffer=*/true);
  archive.try_read("v", v, /*is_buffer=*/true);
  archive.try_read("v_max", v_max, /*is_buffer=*/true);
  if (archive.try_read("matrix", value)) {
    constexpr auto last = static_cast<std::int64_t>(MatrixState::orthogonal);
    if (value.toInt() < 0 || value.toInt() > last) {
      throw_invalid_argument("the archive has {} as how a parameter is taken as a matrix; expected 0 to {}",
                             value.toInt(), last);
    }
    matrix = static_cast<MatrixState>(value.toInt());
  }
  archive.try_read("left", left, /*is_buffer=*/true);
  archive.try_read("right", right, /*is_buffer=*/true);
  archive.try_read("left_basis", left_basis, /*is_buffer=*/true);
  archive.try_read("right_basis", right_basis, /*is_buffer=*/true);
}

void ParameterState::serialize(torch::serialize::OutputArchive& archive) const {
  archive.write("step", c10::IValue(step));
  archive.write("covered", c10::IValue(steps_covered));
  archive.write("momentum_product", c10::IValue(momentum_product));
  if (m.defined()) archive.write("m", m, /*is_buffer=*/true);
  if (v.defined()) archive.write("v", v, /*is_buffer=*/true);
  if (v_max.defined()) archive.write("v_max", v_max, /*is_buffer=*/true);
  archive.write("matrix", c10::IValue(static_cast<std::int64_t>(matrix)));
  if (left.defined()) archive.write("left", left, /*is_buffer=*/true);
  if (right.defined()) archive.write("right", right, /*is_buffer=*/true);
  if (left_basis.defined()) archive.write("left_basis", left_basis, /*is_buffer=*/true);
  if (right_basis.defined()) archive.write("right_basis", right_basis, /*is_buffer=*/true);
}

namespace {

std::int64_t read_int(torch::serialize::InputArchive& archive, const std::string& key) {
  c10::IValue value;
  archive.read(key, value);
  return value.toInt();
}

torch::serialize::InputArchive read_part(torch::serialize::InputArchive& archive, const std::string& key) {
  torch::serialize::InputArchive part;
  archive.read(key, part);
  return part;
}

}  // namespace

// torch::optim::serialize restores neither a group's options nor the whole optimizer's counters, so this is our own:
// parameters are told apart by group and place.
void save_archive(const OptimizerParts& parts, const Groups& groups, const States& states,
                  torch::serialize::OutputArchive& archive) {
  if (parts.ranks->divided()) {
    throw_invalid_argument(
        "the state is divided over ranks, and an archive would hold one rank's part: use named_state()");
  }
  archive.write("lehi_name", c10::IValue(parts.options.name));
  archive.write("lehi_recipe", c10::IValue(to_string(parts.options.recipe)));
  archive.write("lehi_steps", c10::IValue(parts.counter.step));
  archive.write("lehi_seed", c10::IValue(static_cast<std::int64_t>(parts.options.seed)));
  archive.write("lehi_schedule_start", c10::IValue(parts.counter.schedule_start));
  archive.write("lehi_known_parameters", c10::IValue(static_cast<std::int64_t>(parts.counter.known_parameters)));
  archive.write("lehi_groups", c10::IValue(static_cast<std::int64_t>(groups.size())));
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    torch::serialize::OutputArchive part(archive.compilation_unit());
    group_options(groups, group).serialize(part);
    part.write("parameters", c10::IValue(static_cast<std::int64_t>(parameters.size())));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParameterState* state = find_state(states, parameters[i]);
      torch::serialize::OutputArchive entry(archive.compilation_unit());
      entry.write("shape", c10::IValue(parameters[i].sizes().vec()));
      entry.write("has_state", c10::IValue(state != nullptr));
      if (state != nullptr) state->serialize(entry);
      part.write(fmt::format("parameter_{}", i), entry);
    }
    archive.write(fmt::format("lehi_group_{}", group), part);
  }
}

void load_archive(OptimizerParts& parts, Groups& groups, States& states, torch::serialize::InputArchive& archive) {
  c10::IValue value;
  if (!archive.try_read("lehi_name", value)) {
    throw_invalid_argument("the archive holds no lehi optimizer: expected one saved by lehi::Optimizer::save");
  }
  if (value.toStringRef() != parts.options.name) {
    throw_invalid_argument("the archive holds the state of '{}', but this optimizer is '{}'", value.toStringRef(),
                           parts.options.name);
  }
  // Version 0.1 did not save the recipe.
  if (archive.try_read("lehi_recipe", value)) expect_recipe("the archive", value.toStringRef(), parts.options.recipe);
  if (const auto count = read_int(archive, "lehi_groups"); count != static_cast<std::int64_t>(groups.size())) {
    throw_invalid_argument("the archive has {} parameter groups, this optimizer {}", count, groups.size());
  }
  // All is read and checked before anything changes.
  std::vector<GroupOptions> options(groups.size());
  std::vector<std::pair<Tensor, ParameterState>> restored;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    auto part = read_part(archive, fmt::format("lehi_group_{}", group));
    options[group].serialize(part);
    if (const auto count = read_int(part, "parameters"); count != static_cast<std::int64_t>(parameters.size())) {
      throw_invalid_argument("group {} of the archive has {} parameters, this optimizer's {}", group, count,
                             parameters.size());
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto entry = read_part(part, fmt::format("parameter_{}", i));
      entry.read("shape", value);
      const auto shape = value.toIntVector();
      if (parameters[i].sizes() != at::IntArrayRef(shape)) {
        throw_invalid_argument("{} has shape {}, but {} in the archive", parts.parameters.name(parameters[i], group, i),
                               fmt::join(parameters[i].sizes(), " x "), fmt::join(shape, " x "));
      }
      entry.read("has_state", value);
      if (!value.toBool()) continue;
      ParameterState& state = restored.emplace_back(parameters[i], ParameterState()).second;
      state.serialize(entry);
      const MatrixSize size = matrix_size(parameters[i]);
      if (state.matrix != MatrixState::diagonal && (size.rows <= 1 || size.columns <= 1)) {
        throw_invalid_argument("{} is no matrix, but one in the archive",
                               parts.parameters.name(parameters[i], group, i));
      }
    }
  }
  StepCounter counter;
  counter.step = read_int(archive, "lehi_steps");
  counter.schedule_start = read_int(archive, "lehi_schedule_start");
  counter.known_parameters = static_cast<std::size_t>(read_int(archive, "lehi_known_parameters"));
  const auto seed = static_cast<std::uint64_t>(read_int(archive, "lehi_seed"));

  states.clear();
  for (auto& [parameter, state] : restored) {
    states[compat::state_key(parameter)] = std::make_unique<ParameterState>(std::move(state));
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    groups[group].set_options(std::make_unique<GroupOptions>(options[group]));
  }
  parts.counter = counter;
  parts.options.seed = seed;
  parts.micro_batches.discard();
}

void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  save_archive(*parts_, param_groups_, state_, archive);
}

void Optimizer::load(torch::serialize::InputArchive& archive) { load_archive(*parts_, param_groups_, state_, archive); }

}  // namespace lehi
