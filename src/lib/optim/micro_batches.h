// Sums of g and s over the micro-batches of a step, one set a term: each term's count is known only at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optim/backward.h"
#include "optim/terms.h"

namespace lehi {

class MicroBatches {
 public:
  std::int64_t count() const { return count_; }
  /// One of them had predictions that are not finite.
  bool poisoned() const { return poisoned_; }
  void discard();

  /// Begins a micro-batch: the first of a step empties the sums, the others must have the same terms. Throws
  /// std::invalid_argument when they have not, or when parameters were added in between.
  void begin(const std::vector<Term>& terms, std::size_t parameters);
  /// Rows of each term so far.
  std::vector<std::int64_t> rows() const;

  /// Adds the micro-batch, whose terms have been evaluated; returns its mean loss.
  double add(const std::vector<Term>& terms, const std::vector<Evaluation>& evaluations, bool second,
             const ParameterTable& parameters, bool keep_graph);
  /// Counts a micro-batch whose predictions are not finite.
  void add_poisoned();

  /// Sums and counts of the terms' values, which several ranks add up before deliver().
  std::vector<double*> totals();

  /// The step's loss; and g and, where `second` is true, s of all terms together, which still need `factors`. Throws
  /// std::invalid_argument when parameters were added since.
  GradientSource source(Scale scale, bool second, std::size_t parameters, LossValue& loss, Factors& factors) const;

 private:
  struct Sums {
    double value = 0.0;
    double count = 0.0;
    std::int64_t rows = 0;
    double weight = 1.0;
    Tensors g;  // by parameter; the buffers live on from step to step
    Tensors s;
    std::vector<bool> used;  // the parameter took part in this step
  };

  std::vector<Sums> sums_;  // of the terms
  std::int64_t count_ = 0;
  bool poisoned_ = false;
};

}  // namespace lehi
