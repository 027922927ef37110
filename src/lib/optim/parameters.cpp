#include "optim/parameters.h"

#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

const GroupOptions& group_options(const Groups& groups, std::size_t group) {
  const auto* options = dynamic_cast<const GroupOptions*>(&groups[group].options());
  if (options == nullptr) {
    throw_invalid_argument("parameter group {} has another optimizer's options: give it lehi::GroupOptions, or none",
                           group);
  }
  return *options;
}

bool ParameterTable::is_current(const Groups& groups) const {
  std::size_t index = 0;
  for (const auto& group : groups) {
    for (const Tensor& parameter : group.params()) {
      if (index >= tensors_.size() || !tensors_[index].is_same(parameter)) return false;
      ++index;
    }
  }
  return index == tensors_.size();
}

void ParameterTable::read(const Groups& groups) {
  tensors_.clear();
  places_.clear();
  keys_.clear();
  indices_.clear();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& parameter = parameters[i];
      if (!parameter.defined()) throw_invalid_argument("parameter {} of group {} is an undefined tensor", i, group);
      if (!indices_.emplace(parameter.unsafeGetTensorImpl(), tensors_.size()).second) {
        throw_invalid_argument("{} is listed twice: it would take two steps at once", name(parameter, group, i));
      }
      tensors_.push_back(parameter);
      keys_.push_back(compat::state_key(parameter));
      places_.push_back({group, i});
    }
  }
}

void ParameterTable::check(const Groups& groups, Rule rule) {
  options_.clear();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    options_.push_back(&group_options(groups, group));
    lehi::check(*options_.back(), rule);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& parameter = tensors_[i];
    if (parameter.is_floating_point() && parameter.layout() == torch::kStrided) continue;
    throw_invalid_argument("{} is a {} tensor of layout {}; expected a dense floating-point one", name(i),
                           c10::toString(parameter.scalar_type()),
                           parameter.layout() == torch::kStrided ? "strided" : "sparse");
  }
}

std::optional<std::size_t> ParameterTable::find(const Tensor& tensor) const {
  const auto found = indices_.find(tensor.unsafeGetTensorImpl());
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

std::string ParameterTable::name(std::size_t index) const {
  return name(tensors_[index], places_[index].group, places_[index].index);
}

std::string ParameterTable::name(const Tensor& tensor, std::size_t group, std::size_t place) const {
  const auto found = names_.find(tensor.unsafeGetTensorImpl());
  return found == names_.end() ? fmt::format("parameter {} of group {}", place, group) : found->second;
}

}  // namespace lehi
