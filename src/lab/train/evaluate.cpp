#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

#include "lehi/cross_entropy.h"
#include "lehi/error.h"
#include "lehi/linear_cross_entropy.h"
#include "lehi/losses.h"
#include "train/share.h"

namespace lehi::train {
namespace {

std::int64_t correct(const torch::Tensor& predictions, const torch::Tensor& targets, Prediction prediction) {
  const auto hits =
      prediction == Prediction::binary ? predictions.gt(0).eq(targets.gt(0.5)) : predictions.argmax(1).eq(targets);
  return hits.sum().item<std::int64_t>();
}

struct Sums {
  double loss = 0.0;
  double count = 0.0;
  double hits = 0.0;
};

Sums sums_of_rows(const model::Network& network, const Part& part, const Loss& loss, Prediction prediction,
                  const Share& rows, const std::function<void(std::int64_t)>& on_rows) {
  const auto* chunked = dynamic_cast<const LinearCrossEntropy*>(&loss);
  const bool has_classes = prediction == Prediction::binary || prediction == Prediction::classification;
  Sums sums;
  std::int64_t hits = 0;
  torch::Tensor inputs;
  torch::Tensor targets;
  Evaluation evaluation;
  const std::int64_t end = rows.first + rows.length;
  for (std::int64_t first = rows.first; first < end; first += part.rows_at_once) {
    const std::int64_t last = std::min(first + part.rows_at_once, end);
    part.take(torch::arange(first, last), 0, inputs, targets);
    const auto predictions = network.predict(inputs);
    if (chunked != nullptr) {
      evaluation = chunked->value(predictions, targets);
    } else {
      loss.evaluate(predictions, targets, {}, evaluation);
    }
    sums.loss += evaluation.sum;
    sums.count += evaluation.count;
    if (has_classes) hits += correct(predictions, targets, prediction);
    if (on_rows) on_rows(last);
  }
  sums.hits = static_cast<double>(hits);
  return sums;
}

}  // namespace

std::unique_ptr<Loss> loss_of(Prediction prediction, const model::Network& network, std::int64_t chunk) {
  switch (prediction) {
    case Prediction::regression:
      return std::make_unique<MeanSquaredError>();
    case Prediction::binary:
      return std::make_unique<BinaryCrossEntropy>();
    case Prediction::classification:
      return std::make_unique<CrossEntropy>();
    case Prediction::next_token:
      return std::make_unique<LinearCrossEntropy>(network.head(), CrossEntropyOptions{}, chunk);
  }
  return {};
}

Scores evaluate(const model::Network& network, const Part& part, const Loss& loss, Prediction prediction,
                const std::function<void(std::int64_t)>& on_rows, Ranks* ranks) {
  const torch::NoGradGuard no_grad;
  const bool has_classes = prediction == Prediction::binary || prediction == Prediction::classification;
  const Share rows = ranks == nullptr ? Share{0, part.size} : share_of(part.size, ranks->rank(), ranks->size());
  Sums sums;
  std::string error_text;
  try {
    sums = sums_of_rows(network, part, loss, prediction, rows, on_rows);
  } catch (const NonFiniteError& error) {
    if (ranks == nullptr) throw;
    error_text = error.what();
  }
  if (ranks != nullptr) {
    const torch::Tensor totals =
        torch::tensor({sums.loss, sums.count, sums.hits, error_text.empty() ? 0.0 : 1.0}, torch::kFloat64);
    ranks->sum(totals);
    const double* numbers = totals.data_ptr<double>();
    sums = {numbers[0], numbers[1], numbers[2]};
    if (numbers[3] > 0.0)
      throw NonFiniteError(error_text.empty() ? "a prediction of another rank is not finite" : error_text);
  }
  Scores scores{.loss = sums.loss / sums.count};
  if (has_classes) scores.accuracy = 100.0 * sums.hits / static_cast<double>(part.size);
  if (prediction == Prediction::next_token) scores.perplexity = std::exp(scores.loss);
  return scores;
}

}  // namespace lehi::train
