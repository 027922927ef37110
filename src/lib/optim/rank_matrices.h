// Where the optimizer's state is divided over ranks, the state of a parameter that is updated as a matrix stays in one
// piece: each matrix has one owner, which updates it and sends the result to the others.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lehi/ranks.h"

namespace lehi {

/// The rank that would own each parameter's matrix: dealt out from the largest parameter to the smallest, back and
/// forth over the ranks, so that all get about as much. Every rank computes the same.
std::vector<int> matrix_owners(const std::vector<torch::Tensor>& parameters, int ranks);

/// Sends a flat tensor of each of these parameters from its owner to all ranks: get(i) on the owner (undefined: zeros),
/// of length(i) elements, take(i, values) on every rank. They travel as `dtype`. All ranks must call this together.
void gather_whole(Ranks& ranks, const std::vector<int>& owners, const std::vector<std::size_t>& indices,
                  torch::Dtype dtype, const std::function<std::int64_t(std::size_t index)>& length,
                  const std::function<torch::Tensor(std::size_t index)>& get,
                  const std::function<void(std::size_t index, const torch::Tensor& values)>& take);

}  // namespace lehi
