// The update of the parameters: their states, the step's coefficients, the kernel. A parameter is either diagonal, and
// then a piece of its state may be on each rank, or a matrix (matrix_update.h), whose state is on one rank.
#pragma once

#include <limits>
#include <vector>

#include "ops/rounding.h"
#include "optim/parameters.h"
#include "optim/rank_team.h"
#include "optim/terms.h"
#include "plan/plan.h"

namespace lehi {

/// What all parameters' updates of a step share.
struct Updater {
  const Options& options;
  const ParameterTable& parameters;
  const RankTeam& ranks;
  StepPlan plan;
  Factors factors;                                               ///< of g (clipping included) and s
  double count = 1.0;                                            ///< B in Sophia-G
  double predictions = std::numeric_limits<double>::infinity();  ///< of a step, where they are known
  std::int64_t step = 1;

  /// s may be undefined: a parameter that only the regulariser reaches has no curvature.
  void update(States& states, std::size_t index, const torch::Tensor& g, const torch::Tensor& s) const;

  /// All of them; undefined g: the parameter takes no part. This rank's matrices are updated in the order of
  /// matrix_order(). Only for those that are updated in turn (and for large ones in update(), which has one matrix at a
  /// time) do the bits depend on the number of threads.
  void update_all(States& states, const Tensors& g, const Tensors& s) const;

 private:
  ParameterState& begin(States& states, std::size_t index) const;
  MatrixState matrix_state(std::size_t index) const;
  void update_one(std::size_t index, const torch::Tensor& g, const torch::Tensor& s, ParameterState& state) const;
  ops::WeightRounding rounding(std::size_t index, std::int64_t first = 0) const;
  void update_diagonal(std::size_t index, const torch::Tensor& g, const torch::Tensor& s, ParameterState& state) const;
};

/// How a rank updates the matrices that it owns, those with the most numbers first.
struct MatrixOrder {
  std::vector<std::size_t> in_turn;       ///< first, one after the other, each with all threads
  std::vector<std::size_t> side_by_side;  ///< then all others, each on one thread
};

/// Of all `matrices` of a step. Large ones are taken in turn where this rank has fewer of them than threads, however
/// many small ones there are.
MatrixOrder matrix_order(const ParameterTable& parameters, const RankTeam& ranks, std::vector<std::size_t> matrices,
                         int threads);

/// Zeros as a parameter's moments start: at least float32; in the parameter's memory order, but contiguous for a
/// matrix; this rank's piece where the state is divided.
torch::Tensor zero_moment(const torch::Tensor& parameter, std::size_t index, MatrixState matrix, const RankTeam& ranks);

/// The state of a parameter, or nullptr before its first step.
const ParameterState* find_state(const States& states, const torch::Tensor& parameter);

/// The parameters that are matrices, in their order.
std::vector<std::size_t> matrices_of(const ParameterTable& parameters, const States& states);

}  // namespace lehi
