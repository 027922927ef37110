// The optimizer's parameters as one list over all groups: members, state keys, names, group options.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lehi/optimizer.h"
#include "lehi/torch_compat.h"

namespace lehi {

using Tensors = std::vector<torch::Tensor>;
using Groups = std::vector<torch::optim::OptimizerParamGroup>;
/// torch's map from a parameter's key to its state.
using States = std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

class ParameterTable {
 public:
  /// False when a user has added parameters since read().
  bool is_current(const Groups& groups) const;
  /// Throws std::invalid_argument for a tensor that is undefined or listed twice.
  void read(const Groups& groups);
  /// Before every step: looks up the groups' options. Throws std::invalid_argument for options that are not lehi's or
  /// out of range, and for parameters that are not dense floating-point tensors.
  void check(const Groups& groups, Rule rule);

  using StateKey = decltype(compat::state_key(torch::Tensor()));

  std::size_t size() const { return tensors_.size(); }
  const Tensors& tensors() const { return tensors_; }
  const torch::Tensor& tensor(std::size_t index) const { return tensors_[index]; }
  std::size_t group_of(std::size_t index) const { return places_[index].group; }
  std::size_t group_count() const { return options_.size(); }
  /// The options of a parameter's group. Valid from check() until the groups change.
  const GroupOptions& options_of(std::size_t index) const { return *options_[places_[index].group]; }
  const StateKey& key(std::size_t index) const { return keys_[index]; }

  std::optional<std::size_t> find(const torch::Tensor& tensor) const;

  void set_name(const torch::Tensor& tensor, const std::string& name) { names_[tensor.unsafeGetTensorImpl()] = name; }
  /// The name, or "parameter 3 of group 0".
  std::string name(std::size_t index) const;
  std::string name(const torch::Tensor& tensor, std::size_t group, std::size_t place) const;

 private:
  struct Place {
    std::size_t group = 0;
    std::size_t index = 0;  // in its group
  };

  Tensors tensors_;
  std::vector<Place> places_;
  std::vector<StateKey> keys_;  // kept: making one costs more than finding a state
  std::unordered_map<const void*, std::size_t> indices_;
  std::vector<const GroupOptions*> options_;  // of the groups
  std::map<const void*, std::string> names_;
};

/// A group's options. Throws std::invalid_argument for those of another optimizer.
const GroupOptions& group_options(const Groups& groups, std::size_t group);

}  // namespace lehi
