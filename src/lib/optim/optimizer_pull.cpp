// From predictions to g and s: the losses' u and v, and their way back to the parameters.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "curvature/pull_back.h"
#include "lehi/error.h"
#include "lehi/optimizer.h"
#include "optim/rank_sums.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

void check_delivery(const std::vector<Tensor>& pulled, std::size_t cotangents, const Tensor& parameter,
                    const std::string& name) {
  if (pulled.size() != cotangents) {
    throw_invalid_argument("the network's pull_back delivered {} tensors of {} for {} cotangents", pulled.size(), name,
                           cotangents);
  }
  for (const Tensor& tensor : pulled) {
    if (!tensor.defined()) throw_invalid_argument("the network's pull_back delivered an undefined tensor of {}", name);
    if (tensor.sizes() == parameter.sizes()) continue;
    throw_invalid_argument("the network's pull_back delivered shape [{}] of {}, which has shape [{}]",
                           fmt::join(tensor.sizes(), ", "), name, fmt::join(parameter.sizes(), ", "));
  }
}

// sum += part; a sparse part has rows of the first dimension.
void add_to(Tensor& sum, const Tensor& part) {
  if (part.is_sparse()) {
    sum.index_add_(0, part._indices()[0], part._values());
  } else {
    sum.add_(part);
  }
}

// What the losses' own parameters get beside what comes back through the network, by the parameters' indices.
class Owned {
 public:
  Owned(std::span<const Term> terms, std::span<Evaluation> evaluations, const std::vector<Tensor>& parameters,
        bool second) {
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const auto own = terms[t].loss.parameters();
      for (std::size_t p = 0; p < own.size(); ++p) {
        const auto found = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const Tensor& parameter) { return parameter.is_same(own[p]); });
        if (found == parameters.end()) continue;  // not this optimizer's, or frozen
        std::vector<Tensor> parts = {evaluations[t].parameter_gradients[p]};
        if (second) parts.push_back(evaluations[t].parameter_probes[p]);
        add(static_cast<std::size_t>(found - parameters.begin()), std::move(parts));
      }
    }
  }

  // The whole of a parameter's g and s, as dense tensors: `pulled` and what the losses had for it, which is then gone.
  std::vector<Tensor> joined_with(std::size_t index, const std::vector<Tensor>& pulled) {
    std::vector<Tensor> sums;
    if (const auto found = parts_.find(index); found != parts_.end()) {
      sums = std::move(found->second);
      parts_.erase(found);
      for (std::size_t c = 0; c < sums.size(); ++c) add_to(sums[c], pulled[c]);
      return sums;
    }
    for (const Tensor& tensor : pulled) sums.push_back(tensor.is_sparse() ? tensor.to_dense() : tensor);
    return sums;
  }

  // What no network has taken.
  const std::map<std::size_t, std::vector<Tensor>>& rest() const { return parts_; }

 private:
  void add(std::size_t index, std::vector<Tensor> parts) {
    const auto [place, is_new] = parts_.emplace(index, parts);
    if (is_new) return;
    for (std::size_t c = 0; c < parts.size(); ++c) place->second[c] = place->second[c] + parts[c];
  }

  std::map<std::size_t, std::vector<Tensor>> parts_;
};

// What a rank without rows adds to a step.
Evaluation evaluation_of_no_rows(const Term& term, bool second) {
  const torch::NoGradGuard no_grad;
  Evaluation evaluation;
  evaluation.gradient = torch::zeros_like(term.predictions);
  if (second) evaluation.probe = torch::zeros_like(term.predictions);
  for (const Tensor& parameter : term.loss.parameters()) {
    evaluation.parameter_gradients.push_back(torch::zeros_like(parameter));
    if (second) evaluation.parameter_probes.push_back(torch::zeros_like(parameter));
  }
  return evaluation;
}

// Sends every parameter's g and s, complete, to `take(index, parts)`: what the network delivers, joined with what the
// losses have.
template <class Take>
void pull_through(const Differentiable& network, const std::vector<Tensor>& cotangents,
                  const std::vector<Tensor>& parameters, Owned& owned, Take&& take) {
  if (!network.pull_back)
    throw_invalid_argument("the network has no pull_back: without one nothing can be differentiated");
  const torch::NoGradGuard no_grad;
  std::vector<bool> delivered(parameters.size(), false);
  bool any = false;
  network.pull_back(cotangents, [&](const Tensor& parameter, const std::vector<Tensor>& pulled) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_same(parameter)) continue;
      const std::string name = fmt::format("parameter {}", i);
      check_delivery(pulled, cotangents.size(), parameter, name);
      if (delivered[i]) throw_invalid_argument("the network's pull_back delivered {} twice", name);
      delivered[i] = any = true;
      take(i, owned.joined_with(i, pulled));
      return;
    }
  });
  for (const auto& [index, parts] : owned.rest()) {
    any = true;
    take(index, parts);
  }
  const bool no_rows = cotangents.front().numel() == 0;
  if (!any && !no_rows)
    throw_invalid_argument("none of the optimizer's parameters takes part in the network: there is nothing to train");
}

}  // namespace

ProbeRequest Optimizer::probe_request(const Term& term, std::size_t index, const Refresh& refresh) const {
  ProbeRequest request;
  if (needs_second_pull_back(refresh)) request.probe = options_.recipe.probe;
  request.scale = options_.recipe.scale;
  std::int64_t first_row = micro_batches_ > 0 ? sums_[index].rows : 0;
  if (const Tensor& predictions = term.predictions; ranks_ != nullptr && predictions.dim() > 0) {
    const std::int64_t own = std::max<std::int64_t>(1, predictions.size(0));
    first_row += first_row_.value_or(ranks_->rank() * own) * (row_shape(predictions).rows / own);
  }
  request.key = {options_.seed, static_cast<std::uint64_t>(step_ + 1), static_cast<std::uint64_t>(first_row),
                 static_cast<std::uint32_t>(index)};
  return request;
}

// Fills evaluations_. Returns what is not finite, or "".
std::string Optimizer::evaluate_terms(const std::vector<Term>& terms, const Refresh& refresh) {
  evaluations_.resize(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (!(terms[t].weight >= 0.0) || std::isinf(terms[t].weight)) {
      throw_invalid_argument("term {} has weight {}, but a weight must be finite and >= 0", t, terms[t].weight);
    }
    if (ranks_ != nullptr && terms[t].predictions.numel() == 0) {
      evaluations_[t] = evaluation_of_no_rows(terms[t], needs_second_pull_back(refresh));
      continue;
    }
    try {
      terms[t].loss.evaluate(terms[t].predictions, terms[t].targets, probe_request(terms[t], t, refresh),
                             evaluations_[t]);
    } catch (const NonFiniteError& error) {
      return error.what();
    }
  }
  return "";
}

// trouble: what keeps this rank from going on, or "". totals are summed over the ranks. False when one of them can't go
// on, under the policies that do not raise then.
bool Optimizer::all_go_on(const std::string& trouble, std::vector<double*> totals) {
  std::string text = trouble;
  if (ranks_ != nullptr) {
    double in_trouble = trouble.empty() ? 0.0 : 1.0;
    totals.push_back(&in_trouble);
    sum_over_ranks(totals);
    if (text.empty() && in_trouble > 0.0) text = "the predictions of another rank are not finite";
  }
  if (text.empty()) return true;
  if (options_.non_finite != NonFinite::throw_error) return false;
  discard_accumulated();
  throw NonFiniteError(fmt::format("step {}: {}", step_ + 1, text));
}

// Each list of cotangents, one a term, pulled back to all parameters: through the terms' graphs, or by the network.
// evaluations: of the terms.
void Optimizer::pull(std::span<const Term> terms, std::span<Evaluation> evaluations,
                     const std::vector<Tensors>& cotangents, bool keep_graph, const Differentiable* network,
                     const Take& take) {
  const Tensors& parameters = all_parameters();
  Owned owned(terms, evaluations, parameters, cotangents.size() == 2);
  if (network != nullptr) {
    Tensors of_the_term;
    for (const Tensors& list : cotangents) of_the_term.push_back(list.front());
    return pull_through(*network, of_the_term, parameters, owned, take);
  }
  Tensors predictions;
  for (const Term& term : terms) predictions.push_back(term.predictions);
  std::vector<Tensors> results(cotangents.size());
  for (std::size_t c = 0; c < cotangents.size(); ++c) {
    const bool again = c + 1 < cotangents.size();
    results[c] = pull_back(predictions, cotangents[c], parameters, keep_graph || again);
    for (const auto& [index, parts] : owned.rest()) {
      results[c][index] = results[c][index].defined() ? results[c][index] + parts[c] : parts[c];
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!results.front()[i].defined()) continue;
    Tensors parts;
    for (Tensors& result : results) parts.push_back(std::move(result[i]));
    take(i, parts);
  }
}

// The term's part of the value, and its factors: left to the update where it is the only term, at no cost.
void Optimizer::scale_term(const Term& term, std::size_t index, bool alone, Pulled& pulled) {
  Evaluation& evaluation = evaluations_[index];
  if (evaluation.count <= 0.0) {
    throw_invalid_argument("term {}: every target is ignored or has weight 0, so its mean does not exist", index);
  }
  pulled.value += term.weight * evaluation.mean();
  const double g_factor = term.weight / evaluation.count;
  const double s_factor = probe_factor(options_.recipe.scale, term.weight, evaluation.count);
  if (alone) {
    pulled.g_factor = g_factor;
    pulled.s_factor = s_factor;
    return;
  }
  evaluation.gradient.mul_(g_factor);
  for (Tensor& gradient : evaluation.parameter_gradients) gradient.mul_(g_factor);
  if (evaluation.probe.defined()) evaluation.probe.mul_(s_factor);
  for (Tensor& probe : evaluation.parameter_probes) probe.mul_(s_factor);
}

Optimizer::Pulled Optimizer::pull_terms(const std::vector<Term>& terms, const Refresh& refresh, bool keep_graph,
                                        const Differentiable* network) {
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  std::vector<Tensors> cotangents(second ? 2 : 1);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    scale_term(terms[t], t, terms.size() == 1, pulled);
    cotangents[0].push_back(evaluations_[t].gradient);
    if (second) cotangents[1].push_back(evaluations_[t].probe);
  }
  pulled.count = evaluations_.front().count;
  pulled.g.resize(parameter_total());
  if (second) pulled.s.resize(pulled.g.size());
  const Take keep = [&](std::size_t index, const Tensors& parts) {
    pulled.g[index] = parts[0];
    if (second) pulled.s[index] = parts[1];
  };
  if (ranks_ == nullptr) {
    pull(terms, evaluations_, cotangents, keep_graph, network, keep);
    return pulled;
  }
  all_parameters();
  rank_sums_->begin(cotangents.size());
  pull(terms, evaluations_, cotangents, keep_graph, network,
       [this](std::size_t index, const Tensors& parts) { rank_sums_->add(index, parts); });
  rank_sums_->flush();
  rank_sums_->complete(/*pending=*/0, keep);
  return pulled;
}

// Every parameter is updated as it arrives, and its g and s are let go.
double Optimizer::step_during_pull_back(const Term& term, const Refresh& refresh, const Differentiable& network) {
  check_parameters();
  const bool second = needs_second_pull_back(refresh);
  const Tensors& parameters = all_parameters();
  Pulled pulled;
  pulled.g.resize(parameters.size());
  if (second) pulled.s.resize(parameters.size());
  pulled.count = evaluations_.front().count;
  scale_term(term, 0, /*alone=*/true, pulled);
  begin_report(pulled, refresh, second);
  Measured measured{.largest = std::vector<double>(param_groups_.size())};
  Tensors cotangents = {evaluations_.front().gradient};
  if (second) cotangents.push_back(evaluations_.front().probe);
  Owned owned(std::span(&term, 1), evaluations_, parameters, second);
  const Take update = [&](std::size_t index, const Tensors& parts) {
    pulled.g[index] = parts[0];
    if (second) pulled.s[index] = parts[1];
    measure(pulled, index, refresh, measured);
    update_parameter(pulled, index, refresh);
    pulled.g[index].reset();
    if (second) pulled.s[index].reset();
  };
  if (ranks_ == nullptr) {
    pull_through(network, cotangents, parameters, owned, update);
  } else {
    // One bucket is summed while the next one fills, and no more are kept.
    const auto complete = [&](std::size_t pending) {
      rank_sums_->complete(pending, update);
      rank_sums_->release();
    };
    rank_sums_->begin(cotangents.size());
    pull_through(network, cotangents, parameters, owned, [&](std::size_t index, const Tensors& parts) {
      rank_sums_->add(index, parts);
      complete(/*pending=*/1);
    });
    rank_sums_->flush();
    complete(/*pending=*/0);
    share_weights();
  }
  report_norms(pulled, measured);
  return finish_step(pulled);
}

}  // namespace lehi
