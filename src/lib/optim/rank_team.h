// What an optimizer does with the other ranks of a data-parallel run. With one process there are none, and every call
// is trivial: the optimizer has no branches for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lehi/ranks.h"
#include "optim/backward.h"
#include "optim/parameters.h"

namespace lehi {

class RankTeam {
 public:
  RankTeam() = default;
  RankTeam(const RankTeam&) = delete;
  RankTeam(RankTeam&&) = delete;
  RankTeam& operator=(const RankTeam&) = delete;
  RankTeam& operator=(RankTeam&&) = delete;
  virtual ~RankTeam() = default;

  virtual bool several() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Each rank keeps its own piece of the state only.
  virtual bool divided() const = 0;

  /// The optimizer's parameters are these from now on. `has_state`: one of them has taken a step.
  virtual void set_parameters(const Tensors& parameters, bool has_state) = 0;

  /// Rows of the whole batch before this rank's. `first`: index of its first row along the first dimension, where the
  /// user has set it; by default all ranks have as many rows.
  virtual std::int64_t rows_before(const torch::Tensor& predictions, std::optional<std::int64_t> first) const = 0;

  /// Replaces numbers by their sums over the ranks.
  virtual void sum(const std::vector<double*>& numbers) const = 0;

  /// Runs the source, and gives the sink the sums over all ranks. `vectors`: 1 (g) or 2 (g and s). early: as soon as
  /// each bucket is complete, without keeping it; else after all of them have arrived.
  virtual void sum_gradients(const GradientSource& source, std::size_t vectors, bool early,
                             const GradientSink& sink) = 0;

  /// How many of a parameter's weights this rank keeps the state of.
  virtual std::int64_t own_weights(const torch::Tensor& parameter, std::size_t index) const = 0;
  /// The first of them, in the order of the parameter's memory.
  virtual std::int64_t own_first(std::size_t index) const = 0;
  /// This rank's piece of a tensor like the parameter, flat; all of it, as it is, where the state is not divided.
  virtual torch::Tensor own_part(const torch::Tensor& whole, std::size_t index) const = 0;
  /// This rank keeps the state of a parameter that is updated as a matrix.
  virtual bool owns_matrix(std::size_t index) const = 0;
  /// After each rank has updated the weights whose state it keeps. `matrices`: the parameters updated as a matrix.
  virtual void share_weights(const std::vector<std::size_t>& matrices) = 0;
  /// A moment of every diagonal parameter, from the ranks' pieces piece(index), on rank 0; undefined where no rank
  /// keeps it.
  virtual Tensors gather(const std::function<torch::Tensor(std::size_t index)>& piece) const = 0;
  /// A tensor of each of these matrices, from their owners' get(index), on rank 0, flat; length(index) elements, on all
  /// ranks. Where the state is not divided: get(index), as it is.
  virtual Tensors gather_matrices(const std::vector<std::size_t>& matrices,
                                  const std::function<std::int64_t(std::size_t index)>& length,
                                  const std::function<torch::Tensor(std::size_t index)>& get) const = 0;
};

std::unique_ptr<RankTeam> one_process();
std::unique_ptr<RankTeam> team_of(std::shared_ptr<Ranks> ranks, const DistributeOptions& options);

}  // namespace lehi
