// Loss terms: their evaluation, and the factors that turn sums over rows into the mean loss's g and s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lehi/optimizer.h"
#include "optim/parameters.h"
#include "optim/rank_team.h"
#include "plan/plan.h"

namespace lehi {

/// What g and s are still to be multiplied by.
struct Factors {
  double g = 1.0;
  double s = 1.0;
};

/// The loss of a step.
struct LossValue {
  double value = 0.0;
  bool known = true;    ///< false where gradients came from .grad() without a closure
  double count = 0.0;   ///< what the first term's mean divides by
  bool counted = true;  ///< false where gradients came from .grad(): the number of predictions is unknown
};

/// What the evaluation of a step's terms depends on, besides the terms.
struct EvaluationContext {
  const Options& options;
  const StepPlan& plan;
  const RankTeam& ranks;
  std::optional<std::int64_t> first_row;  ///< of this rank, where the user has set it
  std::int64_t step = 1;
};

/// Fills `evaluations`, one a term. `rows_before`: rows of each term in the step's earlier micro-batches, or empty.
/// Returns what is not finite, or "".
std::string evaluate_terms(const std::vector<Term>& terms, const EvaluationContext& context,
                           const std::vector<std::int64_t>& rows_before, std::vector<Evaluation>& evaluations);

/// Adds the term's part to `loss` and returns its factors: `sum` and `count` are those of all its rows. Throws
/// std::invalid_argument when every target is ignored.
Factors add_term(std::size_t index, double weight, double sum, double count, Scale scale, LossValue& loss);

/// Multiplies an evaluation's u, v and own gradients.
void scale_evaluation(const Factors& factors, Evaluation& evaluation);

}  // namespace lehi
