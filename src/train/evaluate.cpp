#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

#include "lehi/cross_entropy.h"
#include "lehi/linear_cross_entropy.h"
#include "lehi/losses.h"

namespace lehi::train {
namespace {

std::int64_t correct(const torch::Tensor& predictions, const torch::Tensor& targets, Prediction prediction) {
  const auto hits =
      prediction == Prediction::binary ? predictions.gt(0).eq(targets.gt(0.5)) : predictions.argmax(1).eq(targets);
  return hits.sum().item<std::int64_t>();
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
                const std::function<void(std::int64_t)>& on_rows) {
  const torch::NoGradGuard no_grad;
  const auto* chunked = dynamic_cast<const LinearCrossEntropy*>(&loss);
  const bool has_classes = prediction == Prediction::binary || prediction == Prediction::classification;
  double sum = 0.0;
  double count = 0.0;
  std::int64_t hits = 0;
  torch::Tensor inputs;
  torch::Tensor targets;
  Evaluation evaluation;
  for (std::int64_t first = 0; first < part.size; first += part.rows_at_once) {
    const std::int64_t end = std::min(first + part.rows_at_once, part.size);
    part.take(torch::arange(first, end), 0, inputs, targets);
    const auto predictions = network.predict(inputs);
    if (chunked != nullptr) {
      evaluation = chunked->value(predictions, targets);
    } else {
      loss.evaluate(predictions, targets, {}, evaluation);
    }
    sum += evaluation.sum;
    count += evaluation.count;
    if (has_classes) hits += correct(predictions, targets, prediction);
    if (on_rows) on_rows(end);
  }
  Scores scores{.loss = sum / count};
  if (has_classes) scores.accuracy = 100.0 * static_cast<double>(hits) / static_cast<double>(part.size);
  if (prediction == Prediction::next_token) scores.perplexity = std::exp(scores.loss);
  return scores;
}

}  // namespace lehi::train
