#include "optim/micro_batches.h"

#include <span>

#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

void add_to(Tensor& sum, const Tensor& part, bool first) {
  if (!sum.defined()) sum = torch::empty_like(part, part.options(), torch::MemoryFormat::Preserve);
  if (first) {
    sum.copy_(part);
  } else {
    sum.add_(part);
  }
}

}  // namespace

void MicroBatches::discard() {
  count_ = 0;
  poisoned_ = false;
}

void MicroBatches::begin(const std::vector<Term>& terms, std::size_t parameters) {
  if (count_ == 0) {
    sums_.resize(terms.size());
    for (std::size_t t = 0; t < terms.size(); ++t) {
      Sums& sums = sums_[t];
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

std::vector<std::int64_t> MicroBatches::rows() const {
  std::vector<std::int64_t> rows;
  for (const Sums& sums : sums_) rows.push_back(count_ > 0 ? sums.rows : 0);
  return rows;
}

double MicroBatches::add(const std::vector<Term>& terms, const std::vector<Evaluation>& evaluations, bool second,
                         const ParameterTable& parameters, bool keep_graph) {
  const torch::NoGradGuard no_grad;
  double value = 0.0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const bool last = t + 1 == terms.size();
    Sums& sums = sums_[t];
    backward(std::span(terms).subspan(t, 1), std::span(evaluations).subspan(t, 1), second, parameters,
             keep_graph || !last, [&](std::size_t i, const Tensor& g, const Tensor& s) {
               add_to(sums.g[i], g, !sums.used[i]);
               if (second) add_to(sums.s[i], s, !sums.used[i]);
               sums.used[i] = true;
             });
    sums.value += evaluations[t].sum;
    sums.count += evaluations[t].count;
    sums.rows += evaluations[t].rows;
    value += terms[t].weight * evaluations[t].mean();
  }
  ++count_;
  return value;
}

void MicroBatches::add_poisoned() {
  poisoned_ = true;
  ++count_;
}

std::vector<double*> MicroBatches::totals() {
  std::vector<double*> totals;
  for (Sums& sums : sums_) totals.insert(totals.end(), {&sums.value, &sums.count});
  return totals;
}

GradientSource MicroBatches::source(Scale scale, bool second, std::size_t parameters, LossValue& loss,
                                    Factors& factors) const {
  if (parameters != sums_.front().g.size()) {
    throw_invalid_argument(
        "a parameter group was added between accumulate() and step(): call discard_accumulated() and begin again");
  }
  std::vector<Factors> of_terms;
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    of_terms.push_back(add_term(t, sums_[t].weight, sums_[t].value, sums_[t].count, scale, loss));
  }
  if (sums_.size() == 1) {
    factors = of_terms.front();
    return [this, second](const GradientSink& sink) {
      const Sums& sums = sums_.front();
      for (std::size_t i = 0; i < sums.g.size(); ++i) {
        if (sums.used[i]) sink(i, sums.g[i], second ? sums.s[i] : Tensor());
      }
    };
  }
  return [this, second, of_terms](const GradientSink& sink) {
    const torch::NoGradGuard no_grad;
    const auto add_scaled = [](Tensor& sum, const Tensor& part, double factor) {
      sum = sum.defined() ? sum.add(part, factor) : part * factor;
    };
    for (std::size_t i = 0; i < sums_.front().g.size(); ++i) {
      Tensor g;
      Tensor s;
      for (std::size_t t = 0; t < sums_.size(); ++t) {
        if (!sums_[t].used[i]) continue;
        add_scaled(g, sums_[t].g[i], of_terms[t].g);
        if (second) add_scaled(s, sums_[t].s[i], of_terms[t].s);
      }
      if (g.defined()) sink(i, g, s);
    }
  };
}

}  // namespace lehi
