// Parameter groups made from named parameters.
#include <algorithm>

#include "lehi/optimizer.h"

namespace lehi {

using torch::Tensor;

NamedGroups decay_matrices_only(const torch::OrderedDict<std::string, Tensor>& parameters,
                                const GroupOptions& options) {
  std::vector<Tensor> matrices;
  std::vector<Tensor> others;
  for (const auto& item : parameters) (item.value().dim() >= 2 ? matrices : others).push_back(item.value());
  GroupOptions without_decay = options;
  without_decay.weight_decay = 0.0;
  NamedGroups result{.groups = {}, .names = parameters};
  if (!matrices.empty()) result.groups.emplace_back(std::move(matrices), std::make_unique<GroupOptions>(options));
  if (!others.empty()) result.groups.emplace_back(std::move(others), std::make_unique<GroupOptions>(without_decay));
  return result;
}

NamedGroups groups_by_name(const torch::OrderedDict<std::string, Tensor>& parameters,
                           const std::vector<std::pair<std::string, GroupOptions>>& rules,
                           const GroupOptions& otherwise) {
  std::vector<std::vector<Tensor>> members(rules.size() + 1);
  for (const auto& item : parameters) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const auto& candidate) {
      return item.key().find(candidate.first) != std::string::npos;
    });
    members[static_cast<std::size_t>(rule - rules.begin())].push_back(item.value());
  }
  NamedGroups result{.groups = {}, .names = parameters};
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].empty()) continue;
    result.groups.emplace_back(std::move(members[i]),
                               std::make_unique<GroupOptions>(i < rules.size() ? rules[i].second : otherwise));
  }
  return result;
}

}  // namespace lehi
