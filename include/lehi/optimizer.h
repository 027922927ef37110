// The one optimizer class: it runs any recipe. Named optimizers (lehi::Lehi, lehi::Adam, ...) are in lehi/presets.h.
//
//   lehi::CrossEntropy loss;
//   lehi::Lehi optimizer(model->named_parameters(), lehi::LehiOptions(3e-3).eps(1e-2));
//   for (auto& batch : loader)
//     double value = optimizer.step(model->forward(batch.data), loss, batch.target);
//
// One call evaluates the loss, pulls u and (when the schedule asks) v back through the graph, and updates the weights.
// Cost: a forward and a backward, one more backward at each refresh whose probe is not `gradient`, and one sweep over
// weights and state. Only this optimizer's parameters are differentiated, and .grad() is neither read nor written.
//
// Several micro-batches: accumulate() for each, then step(). g and s are summed over all of them and scaled by the
// total count before s is squared, so the result is that of one large batch, to rounding.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lehi/loss.h"
#include "lehi/options.h"
#include "lehi/ranks.h"
#include "lehi/torch_compat.h"

namespace lehi {

class RankSums;

/// One head of a model: weight * mean loss of `predictions`.
struct Term {
  torch::Tensor predictions;
  const Loss& loss;
  torch::Tensor targets;
  double weight = 1.0;  ///< >= 0
};

/// A network that differentiates itself: its predictions, and how cotangents travel back.
struct Differentiable {
  using Tensors = std::vector<torch::Tensor>;
  /// Takes J^T cotangent of one parameter for each cotangent: its shape, dense or, for the rows of an embedding, sparse
  /// in the first dimension. They may be the network's own buffers, valid until its next call.
  using Deliver = std::function<void(const torch::Tensor& parameter, const Tensors& pulled)>;

  torch::Tensor predictions;
  /// Cotangents have the predictions' shape. Calls `deliver` once for each parameter that takes part, and does not read
  /// the parameter after that, so that it may be updated there and then (Options::update_during_pull_back).
  std::function<void(const Tensors& cotangents, const Deliver& deliver)> pull_back;
};

/// What a user may watch in one parameter group (Options::diagnostics).
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

/// A parameter's state. All tensors are at least float32 and undefined until needed; where the state is divided over
/// ranks (DistributeOptions::shard_state) they are flat and hold this rank's piece of the parameter.
struct ParameterState : public torch::optim::OptimizerCloneableParamState<ParameterState> {
  std::int64_t step = 0;          ///< k: steps this parameter has taken
  std::int64_t covered = 0;       ///< t: steps its refreshes cover; 0: no curvature yet, so the parameter waits
  double momentum_product = 1.0;  ///< nadam
  torch::Tensor m;                ///< first moment, or sgd's and rmsprop's momentum buffer
  torch::Tensor v;                ///< kept s^2
  torch::Tensor v_max;            ///< largest v, ema_max only

  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

class Optimizer : public torch::optim::Optimizer {
 public:
  Optimizer(std::vector<torch::Tensor> parameters, Options options);
  /// With names, messages and saved states can say which parameter they mean.
  Optimizer(const torch::OrderedDict<std::string, torch::Tensor>& parameters, Options options);
  /// Groups without options take options.group.
  Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups, Options options);

  /// Loss, pull-backs and update in one call; returns the mean loss. keep_graph: the caller will use the graph again.
  double step(const torch::Tensor& predictions, const Loss& loss, const torch::Tensor& targets,
              bool keep_graph = false);

  /// Several heads; `regulariser`, a scalar tensor with a graph, enters g only. With no terms: the update of what was
  /// accumulated, plus the regulariser.
  double step(const std::vector<Term>& terms, const torch::Tensor& regulariser = {}, bool keep_graph = false);

  /// The same through the network's own pull_back, called once: with u, or with u and v when the schedule asks for v.
  double step(const Differentiable& network, const Loss& loss, const torch::Tensor& targets);

  /// One micro-batch of the next step; returns its mean loss. Every call of a step must pass the same number of terms.
  double accumulate(const torch::Tensor& predictions, const Loss& loss, const torch::Tensor& targets,
                    bool keep_graph = false);
  double accumulate(const std::vector<Term>& terms, bool keep_graph = false);
  double accumulate(const Differentiable& network, const Loss& loss, const torch::Tensor& targets);

  /// After accumulate(): the update. Otherwise torch's own contract, with gradients from .grad(), for recipes whose
  /// probe is `gradient`; others throw std::invalid_argument, since a closure does not tell the predictions.
  torch::Tensor step(LossClosure closure = nullptr) override;

  /// Data parallelism, see lehi/ranks.h: from now on every rank takes every step, with its own rows, which may be none.
  /// Weights must be the same on all ranks, and so must a regulariser. Gradients from .grad() are averaged over the
  /// ranks. State that is divided over the ranks is so from the first step on: call this before it.
  void distribute(std::shared_ptr<Ranks> ranks, const DistributeOptions& options = {});
  /// The place of this rank's first row among the whole batch's, along the first dimension, for the steps to come: what
  /// is drawn at random then is what one process would draw. By default all ranks have as many rows as this one.
  void set_first_row(std::int64_t row) { first_row_ = row; }

  /// Forgets what accumulate() gathered for a step that will not be taken.
  void discard_accumulated();

  const Options& options() const { return options_; }
  const StepReport& report() const { return report_; }
  std::int64_t steps() const { return step_; }

  /// "lehi: imitation probe every step, running-sum accumulator, adam-simplified rule, sqrt-n scale; lr 0.003, ..."
  std::string describe() const;

  /// Gives parameters names after construction (for the group constructor). Unknown tensors are ignored.
  void name_parameters(const torch::OrderedDict<std::string, torch::Tensor>& parameters);
  /// The parameter's name, or "parameter 3 of group 0".
  std::string parameter_name(std::size_t group, std::size_t index) const;

  /// The state of a parameter, or nullptr before its first step.
  const ParameterState* find_state(const torch::Tensor& parameter) const;

  /// The bias-corrected curvature estimate hat(v) that the rule divides by (its square root, for all but sophia).
  /// Undefined before the first refresh. Of state that is divided over ranks: this rank's piece.
  torch::Tensor curvature(const torch::Tensor& parameter) const;

  /// Fraction of all weights where eps outweighs the kept curvature, as in GroupDiagnostics; 0 before the first refresh
  /// and for sgd, which keeps none.
  double eps_dominated() const;

  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

  using NamedState = std::vector<std::pair<std::string, torch::Tensor>>;

  /// Between two steps: all that makes the next ones bit-identical, but for options and seed, which a program's
  /// configuration gives. Of each parameter "NAME.step" and "NAME.covered" (int64) and, once it has taken a step, what
  /// its rule keeps of "NAME.m", "NAME.v", "NAME.v_max" and "NAME.momentum_product" (float64); of the optimizer
  /// "optimizer.step", "optimizer.schedule_start" and "optimizer.known_parameters". The tensors are the optimizer's
  /// own: write or clone them before the next step. Does not depend on the number of ranks: where the state is divided,
  /// all ranks must call this together, and rank 0 gets all of it, the others nothing.
  NamedState named_state() const;
  /// Takes such a state back, in any order; copies the tensors. Every rank must be given the whole of it. Throws
  /// std::invalid_argument, and changes nothing, when an entry is missing, unknown, given twice or of the wrong shape
  /// or dtype.
  void load_named_state(const NamedState& state);
  /// The same without a copy of what nobody else holds: for models whose moments fit into memory only once.
  void load_named_state(NamedState&& state);

 private:
  using Tensors = std::vector<torch::Tensor>;
  using Take = std::function<void(std::size_t index, const Tensors& parts)>;  // g, or g and s, of a parameter

  // One loss term's sums over the micro-batches of a step; g and s follow all_parameters(). The buffers live on.
  struct TermSums {
    double value = 0.0;
    double count = 0.0;
    std::int64_t rows = 0;
    double weight = 1.0;
    std::vector<torch::Tensor> g;
    std::vector<torch::Tensor> s;
    std::vector<bool> used;  // the parameter took part in this step
  };

  // g and s of one step; undefined tensors where a parameter took no part.
  struct Pulled {
    std::vector<torch::Tensor> g;
    std::vector<torch::Tensor> s;
    double g_factor = 1.0;  // still to be multiplied into g
    double s_factor = 1.0;  // still to be multiplied into s
    double value = 0.0;
    bool value_known = true;  // not where gradients came from .grad() without a closure
    double count = 0.0;
  };

  // What is true of the parameter groups as they are now; kept from step to step, as long as they do not change.
  struct Members {
    Tensors parameters;                  // of all groups, in order
    std::vector<compat::StateKey> keys;  // of their states: making them costs more than finding a state
    std::vector<std::size_t> groups;     // that each belongs to
    std::vector<std::size_t> places;     // within its group
  };

  // What is known of a step's g and s while they arrive.
  struct Measured {
    double squares = 0.0;
    std::vector<double> largest;  // |g_i|, of each group
    std::string trouble;          // the first parameter's g or s that is not finite, or too large to be squared
    double excess = 0.0;          // the largest g that is squared, over what its square can be
    std::string excessive;        // whose
  };

  const Tensors& all_parameters();
  std::size_t parameter_total() const;
  const GroupOptions& group_options(std::size_t group) const;
  void check_parameters();
  Refresh next_refresh() const;
  bool needs_second_pull_back(const Refresh& refresh) const;
  double run_step(const std::vector<Term>& terms, const torch::Tensor& regulariser, bool keep_graph,
                  const Differentiable* network);
  double run_accumulate(const std::vector<Term>& terms, bool keep_graph, const Differentiable* network);
  void begin_sums(const std::vector<Term>& terms);
  ProbeRequest probe_request(const Term& term, std::size_t index, const Refresh& refresh) const;
  std::string evaluate_terms(const std::vector<Term>& terms, const Refresh& refresh);
  bool all_go_on(const std::string& trouble, std::vector<double*> totals);
  void pull(std::span<const Term> terms, std::span<Evaluation> evaluations, const std::vector<Tensors>& cotangents,
            bool keep_graph, const Differentiable* network, const Take& take);
  Pulled pull_terms(const std::vector<Term>& terms, const Refresh& refresh, bool keep_graph,
                    const Differentiable* network);
  Pulled gather_accumulated(const Refresh& refresh);
  Pulled gather_gradients(const torch::Tensor& value);
  void sum_over_ranks(Pulled& pulled);
  void sum_over_ranks(const std::vector<double*>& numbers) const;
  void add_regulariser(const torch::Tensor& regulariser, bool keep_graph, Pulled& pulled);
  void scale_term(const Term& term, std::size_t index, bool alone, Pulled& pulled);
  double step_during_pull_back(const Term& term, const Refresh& refresh, const Differentiable& network);
  void begin_report(const Pulled& pulled, const Refresh& refresh, bool second);
  double apply(const Pulled& pulled, const Refresh& refresh);
  void measure(const Pulled& pulled, std::size_t index, const Refresh& refresh, Measured& measured) const;
  bool report_norms(const Pulled& pulled, const Measured& measured);
  double norm_by_parts(const Pulled& pulled, double largest) const;
  double skip_step(double value);
  void update_parameter(const Pulled& pulled, std::size_t index, const Refresh& refresh);
  double finish_step(const Pulled& pulled);
  ParameterState& state_of(std::size_t index, const GroupOptions& group);
  torch::Tensor zero_state(const torch::Tensor& parameter, std::size_t index) const;
  bool divided() const { return ranks_ != nullptr && distribute_options_.shard_state; }
  std::int64_t own_weights(const torch::Tensor& parameter, std::size_t index) const;
  torch::Tensor own_part(const torch::Tensor& whole, std::size_t index) const;
  void share_weights();
  Tensors whole_moments(torch::Tensor ParameterState::*moment) const;
  void make_rank_sums();
  torch::Tensor curvature(const ParameterState* state, const GroupOptions& group) const;
  std::optional<double> eps_limit(const ParameterState* state, const GroupOptions& group) const;
  double dominated_weights(const torch::Tensor& parameter, std::size_t index, const GroupOptions& group) const;
  void diagnose(const Tensors& before);

  Options options_;
  std::map<const void*, std::string> names_;
  Members members_;
  std::int64_t step_ = 0;                // steps taken
  std::int64_t schedule_start_ = 0;      // the step before the schedule's first; moves when parameters are added
  std::size_t known_parameters_ = 0;     // how many the last step had
  std::vector<Evaluation> evaluations_;  // reused across steps, one per term
  std::vector<TermSums> sums_;           // reused across steps, one per term
  std::int64_t micro_batches_ = 0;       // accumulated for the next step
  bool poisoned_ = false;                // one of them had non-finite predictions
  std::shared_ptr<Ranks> ranks_;         // none: this process is the only one
  DistributeOptions distribute_options_;
  std::shared_ptr<RankSums> rank_sums_;    // of members_, where there are ranks
  std::optional<std::int64_t> first_row_;  // of this rank in the whole batch
  StepReport report_;
};

/// Two groups for the usual rule "decay matrices, not biases and norms": parameters with two or more dimensions keep
/// options.weight_decay, the others get none.
std::vector<torch::optim::OptimizerParamGroup> decay_matrices_only(
    const torch::OrderedDict<std::string, torch::Tensor>& parameters, const GroupOptions& options);

/// Groups by name: a parameter goes to the first rule whose text occurs in its name, else to the last group,
/// `otherwise`.
std::vector<torch::optim::OptimizerParamGroup> groups_by_name(
    const torch::OrderedDict<std::string, torch::Tensor>& parameters,
    const std::vector<std::pair<std::string, GroupOptions>>& rules, const GroupOptions& otherwise);

}  // namespace lehi
