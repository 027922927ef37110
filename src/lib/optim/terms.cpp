#include "optim/terms.h"

#include <cmath>

#include "lehi/error.h"
#include "plan/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

// The evaluation of a rank without rows.
Evaluation evaluation_of_no_rows(const Term& term, bool second) {
  const torch::NoGradGuard no_grad;
  Evaluation evaluation;
  evaluation.gradient = torch::zeros_like(term.predictions);
  if (second) evaluation.probe = torch::zeros_like(term.predictions);
  for (const Tensor& parameter : term.loss.get().parameters()) {
    evaluation.parameter_gradients.push_back(torch::zeros_like(parameter));
    if (second) evaluation.parameter_probes.push_back(torch::zeros_like(parameter));
  }
  return evaluation;
}

}  // namespace

Term::Term(const Differentiable& network, const Loss& its_loss, Tensor its_targets, double its_weight)
    : predictions(network.predictions),
      loss(its_loss),
      targets(std::move(its_targets)),
      weight(its_weight),
      pull_back(network.pull_back) {
  if (!pull_back) throw_invalid_argument("the network has no pull_back: without one nothing can be differentiated");
}

std::string evaluate_terms(const std::vector<Term>& terms, const EvaluationContext& context,
                           const std::vector<std::int64_t>& rows_before, std::vector<Evaluation>& evaluations) {
  const bool second = context.plan.second_backward();
  evaluations.resize(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Term& term = terms[t];
    if (!(term.weight >= 0.0) || std::isinf(term.weight)) {
      throw_invalid_argument("term {} has weight {}, but a weight must be finite and >= 0", t, term.weight);
    }
    if (context.ranks.several() && term.predictions.numel() == 0) {
      evaluations[t] = evaluation_of_no_rows(term, second);
      continue;
    }
    ProbeRequest request;
    if (second) request.probe = context.options.recipe.probe;
    request.scale = context.options.recipe.scale;
    const std::int64_t first_row =
        (rows_before.empty() ? 0 : rows_before[t]) + context.ranks.rows_before(term.predictions, context.first_row);
    request.key = {context.options.seed, static_cast<std::uint64_t>(context.step),
                   static_cast<std::uint64_t>(first_row), static_cast<std::uint32_t>(t)};
    try {
      term.loss.get().evaluate(term.predictions, term.targets, request, evaluations[t]);
    } catch (const NonFiniteError& error) {
      return error.what();
    }
  }
  return "";
}

Factors add_term(std::size_t index, double weight, double sum, double count, Scale scale, LossValue& loss) {
  if (count <= 0.0) {
    throw_invalid_argument("term {}: every target is ignored or has weight 0, so its mean does not exist", index);
  }
  loss.value += weight * (sum / count);
  if (index == 0) loss.count = count;
  return {weight / count, probe_factor(scale, weight, count)};
}

void scale_evaluation(const Factors& factors, Evaluation& evaluation) {
  evaluation.gradient.mul_(factors.g);
  for (Tensor& gradient : evaluation.parameter_gradients) gradient.mul_(factors.g);
  if (evaluation.probe.defined()) evaluation.probe.mul_(factors.s);
  for (Tensor& probe : evaluation.parameter_probes) probe.mul_(factors.s);
}

}  // namespace lehi
