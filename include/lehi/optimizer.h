// The one optimizer class: it runs any recipe. Named optimizers (lehi::Lehi, lehi::Adam, ...) are in lehi/presets.h.
//
//   lehi::CrossEntropy loss;
//   lehi::Lehi optimizer(model->named_parameters(), lehi::LehiOptions(3e-3).eps(1e-2));
//   for (auto& batch : loader)
//     double value = optimizer.step(model->forward(batch.data), loss, batch.target);
//
// One call evaluates the loss, runs the backward pass for u and, when the schedule asks for it, a second one for v, and
// updates the weights. A backward pass computes J^T u, "the pull-back of u", with J = dp/dw. Cost: a forward and a
// backward pass, one more backward pass at each refresh whose probe is not `gradient`, and one sweep over weights and
// state. Only this optimizer's parameters are differentiated; .grad() is neither read nor written.
//
// Several micro-batches: accumulate() for each, then step(). g and s are summed over all of them and scaled by the
// total count before s is squared, so the result is that of one large batch, to rounding.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lehi/loss.h"
#include "lehi/options.h"
#include "lehi/ranks.h"
#include "lehi/torch_compat.h"

namespace lehi {

struct OptimizerParts;

/// A network that differentiates itself: its predictions, and how cotangents travel back.
struct Differentiable {
  using Tensors = std::vector<torch::Tensor>;
  /// Takes J^T cotangent of one parameter for each cotangent: its shape, dense or, for the rows of an embedding, sparse
  /// in the first dimension. They may be the network's own buffers, valid until its next call.
  using Deliver = std::function<void(const torch::Tensor& parameter, const Tensors& pulled)>;
  /// Cotangents have the predictions' shape. Calls `deliver` once for each parameter that takes part, and does not read
  /// the parameter after that, so that it may be updated at once (Options::update_during_pull_back).
  using PullBack = std::function<void(const Tensors& cotangents, const Deliver& deliver)>;

  torch::Tensor predictions;
  PullBack pull_back;
};

/// One head of a model: weight * mean loss of `predictions`. The loss must outlive the term.
struct Term {
  Term(torch::Tensor its_predictions, const Loss& its_loss, torch::Tensor its_targets, double its_weight = 1.0)
      : predictions(std::move(its_predictions)), loss(its_loss), targets(std::move(its_targets)), weight(its_weight) {}
  /// Throws std::invalid_argument when the network has no pull_back.
  Term(const Differentiable& network, const Loss& its_loss, torch::Tensor its_targets, double its_weight = 1.0);

  torch::Tensor predictions;
  std::reference_wrapper<const Loss> loss;
  torch::Tensor targets;
  double weight = 1.0;                 ///< >= 0
  Differentiable::PullBack pull_back;  ///< empty: autograd differentiates the predictions' graph
};

/// Statistics of one parameter group (Options::diagnostics).
struct GroupDiagnostics {
  double eps_dominated = 0.0;     ///< fraction of weights where eps outweighs v: there the step is plain momentum
  double clip_rate = 0.0;         ///< fraction of weights whose step the sophia rule clipped
  double update_to_weight = 0.0;  ///< |w_new - w_old| / |w_old|, 2-norms
  double gradient_inf_norm = 0.0;
};

/// What happened in the last step.
struct StepReport {
  std::int64_t step = 0;
  double value = 0.0;             ///< mean loss, regulariser included; NaN where step() saw no loss
  double count = 0.0;             ///< what the first term's mean divided by (B in Sophia-G)
  bool refreshed = false;         ///< new s^2 was accumulated
  bool second_pull_back = false;  ///< v was pulled back
  bool skipped = false;           ///< non-finite and policy skip: nothing changed
  bool non_finite = false;
  double gradient_norm = 0.0;      ///< global 2-norm of g before clipping
  double gradient_inf_norm = 0.0;  ///< largest |g_i|
  double clip_factor = 1.0;        ///< what g was multiplied by
  std::vector<GroupDiagnostics> groups;
};

/// How a parameter's weights are taken together; the values are those of saved states.
enum class MatrixState : std::int64_t { diagonal = 0, left = 1, right = 2, both = 3, orthogonal = 4 };

/// A parameter's state. All tensors are at least float32 and undefined until needed. Where the state is divided over
/// ranks (DistributeOptions::shard_state), those of a diagonal parameter are flat and hold this rank's piece, and those
/// of a matrix are on one rank.
struct ParameterState : public torch::optim::OptimizerCloneableParamState<ParameterState>, StepCounts {
  torch::Tensor m;      ///< first moment, or sgd's and rmsprop's momentum buffer
  torch::Tensor v;      ///< kept s^2
  torch::Tensor v_max;  ///< largest v, ema_max only

  /// Decided at the parameter's first step. With `left`, `right` and `both`, m and v are in the bases below.
  MatrixState matrix = MatrixState::diagonal;
  torch::Tensor left;         ///< L [blocks, length, length]: one block of all rows, or Kronecker::square_blocks
  torch::Tensor right;        ///< R, of the columns
  torch::Tensor left_basis;   ///< Q_L, one vector a column of each block
  torch::Tensor right_basis;  ///< Q_R

  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

/// Parameter groups made from named parameters; the optimizer keeps the names for its messages and saved states.
struct NamedGroups {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  torch::OrderedDict<std::string, torch::Tensor> names;
};

class Optimizer : public torch::optim::Optimizer {
 public:
  Optimizer(std::vector<torch::Tensor> parameters, Options options);
  /// With names, messages and saved states can say which parameter they mean.
  Optimizer(const torch::OrderedDict<std::string, torch::Tensor>& parameters, Options options);
  /// Groups without options take options.group.
  Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups, Options options);
  Optimizer(NamedGroups groups, Options options);
  ~Optimizer() override;
  Optimizer(Optimizer&& other) noexcept;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer& operator=(Optimizer&&) = delete;

  /// The base class's of LibTorch 2.13 replaces options of a type that is not its own by the defaults; this one keeps
  /// them. So do not add groups through a reference to the base class.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// Loss, backward passes and update in one call; returns the mean loss. `regulariser`, a scalar tensor with a graph,
  /// enters g only. keep_graph: the caller will use the graph again. With no terms: the update of what was accumulated.
  /// A network that differentiates itself must be the only term; its pull_back is called once, with u, or with u and v
  /// when the schedule asks for v.
  double step(const std::vector<Term>& terms, const torch::Tensor& regulariser = {}, bool keep_graph = false);
  double step(const torch::Tensor& predictions, const Loss& loss, const torch::Tensor& targets,
              bool keep_graph = false) {
    return step(std::vector<Term>{{predictions, loss, targets}}, {}, keep_graph);
  }
  double step(const Differentiable& network, const Loss& loss, const torch::Tensor& targets) {
    return step(std::vector<Term>{{network, loss, targets}});
  }
  /// After accumulate(): the update; returns the mean loss of all micro-batches. Otherwise the update from .grad(), for
  /// recipes whose probe is `gradient`; returns NaN, since it sees no loss.
  double step();

  /// One micro-batch of the next step; returns its mean loss. Every call of a step must pass the same number of terms.
  double accumulate(const std::vector<Term>& terms, bool keep_graph = false);
  double accumulate(const torch::Tensor& predictions, const Loss& loss, const torch::Tensor& targets,
                    bool keep_graph = false) {
    return accumulate(std::vector<Term>{{predictions, loss, targets}}, keep_graph);
  }
  double accumulate(const Differentiable& network, const Loss& loss, const torch::Tensor& targets) {
    return accumulate(std::vector<Term>{{network, loss, targets}});
  }
  /// Drops what accumulate() gathered for a step that will not be taken.
  void discard_accumulated();

  /// torch's own contract: gradients from .grad(), for recipes whose probe is `gradient`. Others throw
  /// std::invalid_argument, since a closure does not tell the predictions.
  torch::Tensor step(LossClosure closure) override;

  /// Data parallelism, see lehi/ranks.h: from now on every rank takes every step, with its own rows, which may be none.
  /// Weights must be the same on all ranks, and so must a regulariser. Gradients from .grad() are averaged over the
  /// ranks. Call this before the first step where the state is to be divided over the ranks.
  void distribute(std::shared_ptr<Ranks> ranks, const DistributeOptions& options = {});
  /// Index of this rank's first row in the whole batch, along the first dimension, for the steps to come: random probes
  /// then draw what one process would draw. By default all ranks have as many rows as this one.
  void set_first_row(std::int64_t row);

  const Options& options() const;
  const StepReport& report() const;
  std::int64_t steps() const;

  /// "lehi: imitation probe every step, running-sum accumulator, adam-simplified rule, sqrt-n scale; lr 0.003, ..."
  std::string describe() const;

  /// Gives parameters names after construction. Unknown tensors are ignored.
  void name_parameters(const torch::OrderedDict<std::string, torch::Tensor>& parameters);
  /// The parameter's name, or "parameter 3 of group 0".
  std::string parameter_name(std::size_t group, std::size_t index) const;

  /// The state of a parameter, or nullptr before its first step.
  const ParameterState* find_state(const torch::Tensor& parameter) const;

  /// The bias-corrected curvature estimate hat(v) that the rule divides by (its square root, for all but sophia). Of a
  /// kronecker matrix it is in the matrix's eigenbases.
  /// Undefined before the first refresh. Of state that is divided over ranks: this rank's piece.
  torch::Tensor curvature(const torch::Tensor& parameter) const;

  /// Fraction of all weights where eps outweighs the kept curvature, as in GroupDiagnostics; 0 before the first refresh
  /// and for sgd, which keeps none.
  double eps_dominated() const;

  /// Archives. load() throws std::invalid_argument, and changes nothing, when the archive is of another recipe, or of
  /// other parameters.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

  using NamedState = std::vector<std::pair<std::string, torch::Tensor>>;

  /// All that makes the next steps bit-identical, except options and seed, which a program's configuration gives. Of
  /// each parameter "NAME.step" and "NAME.covered" (int64) and, once it has taken a step, what its rule keeps of
  /// "NAME.m", "NAME.v", "NAME.v_max" and "NAME.momentum_product" (float64), and for shapes other than `diagonal`
  /// "NAME.matrix" (int64, MatrixState), "NAME.left", "NAME.right", "NAME.left_basis" and "NAME.right_basis" as far as
  /// there are any; of the optimizer "optimizer.step",
  /// "optimizer.schedule_start", "optimizer.known_parameters" and "optimizer.recipe" (the letters of to_string(recipe)
  /// as uint8). The tensors are the optimizer's own: write or clone them before the next step. Does not depend on the
  /// number of ranks: where the state is divided, all ranks must call this together; rank 0 gets all of it, the others
  /// nothing.
  NamedState named_state() const;
  /// Restores such a state; entries may come in any order, tensors are copied. Every rank must be given all of it.
  /// Throws std::invalid_argument, and changes nothing, when an entry is missing, unknown, given twice or of the wrong
  /// shape or dtype, or when the recipe differs.
  void load_named_state(const NamedState& state);
  /// The same without a copy of tensors that nobody else holds: for models whose moments fit into memory only once.
  void load_named_state(NamedState&& state);

 private:
  std::unique_ptr<OptimizerParts> parts_;
};

/// Two groups for the usual rule "decay matrices, not biases and norms": parameters with two or more dimensions keep
/// options.weight_decay, the others get none.
NamedGroups decay_matrices_only(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                const GroupOptions& options);

/// Groups by name: a parameter goes to the first rule whose string occurs in its name, else to the last group,
/// `otherwise`.
NamedGroups groups_by_name(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                           const std::vector<std::pair<std::string, GroupOptions>>& rules,
                           const GroupOptions& otherwise);

}  // namespace lehi
