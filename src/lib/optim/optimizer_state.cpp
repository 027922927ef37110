// Names, descriptions, archives and parameter groups.
#include <torch/serialize/archive.h>

#include <algorithm>

#include "lehi/optimizer.h"
#include "lehi/torch_compat.h"
#include "optim/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

void ParameterState::serialize(torch::serialize::InputArchive& archive) {
  c10::IValue value;
  archive.read("step", value);
  step = value.toInt();
  archive.read("covered", value);
  covered = value.toInt();
  archive.read("momentum_product", value);
  momentum_product = value.toDouble();
  // A tensor that was undefined when saved is absent.
  archive.try_read("m", m, /*is_buffer=*/true);
  archive.try_read("v", v, /*is_buffer=*/true);
  archive.try_read("v_max", v_max, /*is_buffer=*/true);
}

void ParameterState::serialize(torch::serialize::OutputArchive& archive) const {
  archive.write("step", c10::IValue(step));
  archive.write("covered", c10::IValue(covered));
  archive.write("momentum_product", c10::IValue(momentum_product));
  if (m.defined()) archive.write("m", m, /*is_buffer=*/true);
  if (v.defined()) archive.write("v", v, /*is_buffer=*/true);
  if (v_max.defined()) archive.write("v_max", v_max, /*is_buffer=*/true);
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
void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  if (divided())
    throw_invalid_argument(
        "the state is divided over ranks, and an archive would hold one rank's part: use named_state()");
  archive.write("lehi_name", c10::IValue(options_.name));
  archive.write("lehi_steps", c10::IValue(step_));
  archive.write("lehi_seed", c10::IValue(static_cast<std::int64_t>(options_.seed)));
  archive.write("lehi_schedule_start", c10::IValue(schedule_start_));
  archive.write("lehi_known_parameters", c10::IValue(static_cast<std::int64_t>(known_parameters_)));
  archive.write("lehi_groups", c10::IValue(static_cast<std::int64_t>(param_groups_.size())));
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const auto& parameters = param_groups_[group].params();
    torch::serialize::OutputArchive part(archive.compilation_unit());
    group_options(group).serialize(part);
    part.write("parameters", c10::IValue(static_cast<std::int64_t>(parameters.size())));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParameterState* state = find_state(parameters[i]);
      torch::serialize::OutputArchive entry(archive.compilation_unit());
      entry.write("shape", c10::IValue(parameters[i].sizes().vec()));
      entry.write("has_state", c10::IValue(state != nullptr));
      if (state != nullptr) state->serialize(entry);
      part.write(fmt::format("parameter_{}", i), entry);
    }
    archive.write(fmt::format("lehi_group_{}", group), part);
  }
}

void Optimizer::load(torch::serialize::InputArchive& archive) {
  c10::IValue value;
  if (!archive.try_read("lehi_name", value)) {
    throw_invalid_argument("the archive holds no lehi optimizer: expected one saved by lehi::Optimizer::save");
  }
  if (value.toStringRef() != options_.name) {
    throw_invalid_argument("the archive holds the state of '{}', but this optimizer is '{}'", value.toStringRef(),
                           options_.name);
  }
  if (const auto groups = read_int(archive, "lehi_groups"); groups != static_cast<std::int64_t>(param_groups_.size())) {
    throw_invalid_argument("the archive has {} parameter groups, this optimizer {}", groups, param_groups_.size());
  }
  // All is read and checked before anything changes.
  std::vector<GroupOptions> options(param_groups_.size());
  std::vector<std::pair<Tensor, ParameterState>> states;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const auto& parameters = param_groups_[group].params();
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
        throw_invalid_argument("{} has shape {}, but {} in the archive", parameter_name(group, i),
                               fmt::join(parameters[i].sizes(), " x "), fmt::join(shape, " x "));
      }
      entry.read("has_state", value);
      if (value.toBool()) states.emplace_back(parameters[i], ParameterState()).second.serialize(entry);
    }
  }
  state_.clear();
  for (auto& [parameter, state] : states) {
    state_[compat::state_key(parameter)] = std::make_unique<ParameterState>(std::move(state));
  }
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    param_groups_[group].set_options(std::make_unique<GroupOptions>(options[group]));
  }
  step_ = read_int(archive, "lehi_steps");
  schedule_start_ = read_int(archive, "lehi_schedule_start");
  options_.seed = static_cast<std::uint64_t>(read_int(archive, "lehi_seed"));
  known_parameters_ = static_cast<std::size_t>(read_int(archive, "lehi_known_parameters"));
  discard_accumulated();
}

std::string Optimizer::describe() const {
  const Recipe& recipe = options_.recipe;
  const Schedule& schedule = recipe.schedule;
  std::string when = schedule.every == 1 ? "every step" : fmt::format("every {} steps", schedule.every);
  if (schedule.dense > 0 && schedule.every > 1) when += fmt::format(" after {} dense ones", schedule.dense);
  if (schedule.alternate) when += ", alternating with the gradient";
  const GroupOptions& group = options_.group;
  std::string text = fmt::format("{}: {} probe {}", options_.name, name(recipe.probe), when);
  if (keeps_curvature(recipe)) text += fmt::format(", {} accumulator", name(recipe.accumulator));
  if (recipe.mix != Mix::none) text += fmt::format(", mixed with g^2 ({})", name(recipe.mix));
  text += fmt::format(", {} rule", name(recipe.rule));
  if (recipe.probe != Probe::gradient) text += fmt::format(", {} scale", name(recipe.scale));
  text += fmt::format("; lr {}", group.lr);
  if (recipe.rule == Rule::sgd) {
    text += fmt::format(", momentum {}{}", group.momentum, group.nesterov ? " (Nesterov)" : "");
  } else if (recipe.rule == Rule::rmsprop) {
    text += fmt::format(", beta2 {}, momentum {}, eps {}", group.beta2, group.momentum, group.eps);
  } else {
    text += fmt::format(", betas ({}, {}), eps {}", group.beta1, group.beta2, group.eps);
  }
  if (recipe.rule == Rule::sophia) text += fmt::format(", rho {}", group.rho);
  text += fmt::format(", weight decay {}", group.weight_decay);
  if (options_.clip_norm) text += fmt::format(", clip norm {}", *options_.clip_norm);
  return text;
}

void Optimizer::name_parameters(const torch::OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) names_[item.value().unsafeGetTensorImpl()] = item.key();
}

std::string Optimizer::parameter_name(std::size_t group, std::size_t index) const {
  const auto found = names_.find(param_groups_[group].params()[index].unsafeGetTensorImpl());
  return found == names_.end() ? fmt::format("parameter {} of group {}", index, group) : found->second;
}

std::vector<torch::optim::OptimizerParamGroup> decay_matrices_only(
    const torch::OrderedDict<std::string, Tensor>& parameters, const GroupOptions& options) {
  std::vector<Tensor> matrices;
  std::vector<Tensor> others;
  for (const auto& item : parameters) (item.value().dim() >= 2 ? matrices : others).push_back(item.value());
  GroupOptions without_decay = options;
  without_decay.weight_decay = 0.0;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  if (!matrices.empty()) groups.emplace_back(std::move(matrices), std::make_unique<GroupOptions>(options));
  if (!others.empty()) groups.emplace_back(std::move(others), std::make_unique<GroupOptions>(without_decay));
  return groups;
}

std::vector<torch::optim::OptimizerParamGroup> groups_by_name(
    const torch::OrderedDict<std::string, Tensor>& parameters,
    const std::vector<std::pair<std::string, GroupOptions>>& rules, const GroupOptions& otherwise) {
  std::vector<std::vector<Tensor>> members(rules.size() + 1);
  for (const auto& item : parameters) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const auto& candidate) {
      return item.key().find(candidate.first) != std::string::npos;
    });
    members[static_cast<std::size_t>(rule - rules.begin())].push_back(item.value());
  }
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].empty()) continue;
    groups.emplace_back(std::move(members[i]),
                        std::make_unique<GroupOptions>(i < rules.size() ? rules[i].second : otherwise));
  }
  return groups;
}

}  // namespace lehi
