// Micro-batches: sums of g and s, one set a term, scaled and joined when the step is taken.
#include <limits>

#include "curvature/pull_back.h"
#include "lehi/optimizer.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

void add(Tensor& sum, const Tensor& part, bool first) {
  if (!sum.defined()) sum = torch::empty_like(part, part.options(), torch::MemoryFormat::Preserve);
  if (first) {
    sum.copy_(part);
  } else {
    sum.add_(part);
  }
}

}  // namespace

double Optimizer::accumulate(const Tensor& predictions, const Loss& loss, const Tensor& targets, bool keep_graph) {
  return run_accumulate({Term{predictions, loss, targets}}, keep_graph, nullptr);
}

double Optimizer::accumulate(const std::vector<Term>& terms, bool keep_graph) {
  return run_accumulate(terms, keep_graph, nullptr);
}

double Optimizer::accumulate(const Differentiable& network, const Loss& loss, const Tensor& targets) {
  return run_accumulate({Term{network.predictions, loss, targets}}, /*keep_graph=*/false, &network);
}

// Empties the sums for a step's first micro-batch, or checks that this one has the same terms.
void Optimizer::begin_sums(const std::vector<Term>& terms) {
  const std::size_t parameters = parameter_total();
  if (micro_batches_ == 0) {
    sums_.resize(terms.size());
    for (std::size_t t = 0; t < terms.size(); ++t) {
      TermSums& sums = sums_[t];
      sums.value = sums.count = 0.0;
      sums.rows = 0;
      sums.weight = terms[t].weight;
      sums.g.resize(parameters);
      sums.s.resize(parameters);
      sums.used.assign(parameters, false);
    }
  }
  if (parameters != sums_.front().g.size()) {
    throw_invalid_argument(
        "a parameter group was added after the step's first micro-batch: call discard_accumulated() and begin again");
  }
  if (terms.size() != sums_.size()) {
    throw_invalid_argument("this micro-batch has {} loss terms, the first one of the step had {}", terms.size(),
                           sums_.size());
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].weight != sums_[t].weight) {
      throw_invalid_argument("term {} has weight {}, but had {} in the step's first micro-batch", t, terms[t].weight,
                             sums_[t].weight);
    }
  }
}

double Optimizer::run_accumulate(const std::vector<Term>& terms, bool keep_graph, const Differentiable* network) {
  if (terms.empty()) throw_invalid_argument("accumulate() was given no loss term");
  if (options_.update_during_pull_back) {
    throw_invalid_argument("update_during_pull_back updates the weights at once and cannot accumulate() micro-batches");
  }
  if (ranks_ != nullptr && !first_row_) {
    throw_invalid_argument(
        "several ranks accumulate() micro-batches: tell each of them by set_first_row() where its rows begin");
  }
  begin_sums(terms);
  const Refresh refresh = next_refresh();
  if (!poisoned_) {
    const std::string trouble = evaluate_terms(terms, refresh);
    // Other ranks hear of it when the step is taken; so it is there that this one raises, too.
    poisoned_ = !trouble.empty() && (ranks_ != nullptr || !all_go_on(trouble, {}));
  }
  if (poisoned_) {
    ++micro_batches_;
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool second = needs_second_pull_back(refresh);
  const torch::NoGradGuard no_grad;
  double value = 0.0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    // Each term has its own count, known only at the end: its sums stay apart.
    const bool last = t + 1 == terms.size();
    std::vector<Tensors> cotangents = {{evaluations_[t].gradient}};
    if (second) cotangents.push_back({evaluations_[t].probe});
    TermSums& sums = sums_[t];
    pull(std::span(terms).subspan(t, 1), std::span(evaluations_).subspan(t, 1), cotangents, keep_graph || !last,
         network, [&](std::size_t i, const Tensors& parts) {
           add(sums.g[i], parts[0], !sums.used[i]);
           if (second) add(sums.s[i], parts[1], !sums.used[i]);
           sums.used[i] = true;
         });
    sums.value += evaluations_[t].sum;
    sums.count += evaluations_[t].count;
    sums.rows += evaluations_[t].rows;
    value += terms[t].weight * evaluations_[t].mean();
  }
  ++micro_batches_;
  return value;
}

// The step's g and s from the micro-batches' sums, now that every term's count is known.
Optimizer::Pulled Optimizer::gather_accumulated(const Refresh& refresh) {
  if (parameter_total() != sums_.front().g.size()) {
    throw_invalid_argument(
        "a parameter group was added between accumulate() and step(): call discard_accumulated() and begin again");
  }
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  pulled.g.resize(sums_.front().g.size());
  if (second) pulled.s.resize(pulled.g.size());
  pulled.count = sums_.front().count;
  const torch::NoGradGuard no_grad;
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    const TermSums& sums = sums_[t];
    if (sums.count <= 0.0)
      throw_invalid_argument("term {}: every target of every micro-batch is ignored, so its mean does not exist", t);
    pulled.value += sums.weight * sums.value / sums.count;
    const double g_factor = sums.weight / sums.count;
    const double s_factor = probe_factor(options_.recipe.scale, sums.weight, sums.count);
    if (sums_.size() == 1) {
      pulled.g_factor = g_factor;
      pulled.s_factor = s_factor;
    }
    for (std::size_t i = 0; i < pulled.g.size(); ++i) {
      if (!sums.used[i]) continue;
      if (sums_.size() == 1) {
        pulled.g[i] = sums.g[i];
        if (second) pulled.s[i] = sums.s[i];
        continue;
      }
      pulled.g[i] = pulled.g[i].defined() ? pulled.g[i].add(sums.g[i], g_factor) : sums.g[i] * g_factor;
      if (second) pulled.s[i] = pulled.s[i].defined() ? pulled.s[i].add(sums.s[i], s_factor) : sums.s[i] * s_factor;
    }
  }
  if (ranks_ != nullptr) sum_over_ranks(pulled);
  return pulled;
}

void Optimizer::discard_accumulated() {
  micro_batches_ = 0;
  poisoned_ = false;
}

}  // namespace lehi
