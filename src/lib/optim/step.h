// A step in progress: from the plan to new weights, in the order of the functions below.
#pragma once

#include <string>
#include <vector>

#include "optim/backward.h"
#include "optim/parts.h"
#include "optim/terms.h"
#include "plan/plan.h"

namespace lehi {

struct Step {
  OptimizerParts& parts;
  const Groups& groups;
  States& states;
  StepPlan plan = {};
  LossValue loss = {};
  Factors factors = {};  ///< that g and s still need

  std::size_t vectors() const { return plan.second_backward() ? 2 : 1; }
};

/// g and s of a step by parameter; undefined tensors where a parameter took no part.
struct Gradients {
  Tensors g;
  Tensors s;
};

/// Reads the groups as they are now, and plans the coming step. The schedule starts anew when parameters were added:
/// they need a scale of their own, and a noisy probe its dense start.
Step begin_step(OptimizerParts& parts, const Groups& groups, States& states);

/// Evaluates the terms into OptimizerParts::evaluations. Returns what is not finite, or "".
std::string evaluate(const Step& step, const std::vector<Term>& terms);

/// Sums the totals over the ranks. False when a rank has a problem, under the policies that do not throw then.
bool all_ranks_go_on(OptimizerParts& parts, std::string problem, std::vector<double*> totals);

/// Reports a step that changes nothing; returns `value`.
double skip_step(OptimizerParts& parts, double value);

/// All g and s, summed over the ranks.
Gradients collect(const Step& step, const GradientSource& source);

/// Adds the regulariser's gradient to g and its value to the loss.
void add_regulariser(Step& step, const torch::Tensor& regulariser, bool keep_graph, Tensors& g);

/// Checks g and s, updates all weights, and returns the loss.
double apply(const Step& step, const Gradients& gradients);

/// The same, each parameter as soon as its g and s arrive, which are not kept (Options::update_during_pull_back).
double apply_during_backward(const Step& step, const GradientSource& source);

}  // namespace lehi
