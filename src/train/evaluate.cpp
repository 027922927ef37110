#include "train/evaluate.h"

#include <algorithm>

#include "lehi/cross_entropy.h"
#include "lehi/losses.h"

namespace lehi::train {
namespace {

constexpr std::int64_t rows_at_once = 2048;

std::int64_t correct(const torch::Tensor& predictions, const torch::Tensor& targets, data::TaskKind kind) {
  const auto hits =
      kind == data::TaskKind::binary ? predictions.gt(0).eq(targets.gt(0.5)) : predictions.argmax(1).eq(targets);
  return hits.sum().item<std::int64_t>();
}

}  // namespace

std::unique_ptr<Loss> loss_of(data::TaskKind kind) {
  switch (kind) {
    case data::TaskKind::regression:
      return std::make_unique<MeanSquaredError>();
    case data::TaskKind::binary:
      return std::make_unique<BinaryCrossEntropy>();
    case data::TaskKind::classification:
      return std::make_unique<CrossEntropy>();
  }
  return {};
}

Scores evaluate(const std::function<torch::Tensor(const torch::Tensor&)>& predict, const data::Split& part,
                const Loss& loss, data::TaskKind kind) {
  const torch::NoGradGuard no_grad;
  double sum = 0.0;
  double count = 0.0;
  std::int64_t hits = 0;
  Evaluation evaluation;
  for (std::int64_t first = 0; first < part.size(); first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, part.size() - first);
    const auto targets = part.targets.narrow(0, first, rows);
    const auto predictions = predict(part.values(first, rows));
    loss.evaluate(predictions, targets, {}, evaluation);
    sum += evaluation.sum;
    count += evaluation.count;
    if (kind != data::TaskKind::regression) hits += correct(predictions, targets, kind);
  }
  Scores scores{.loss = sum / count};
  if (kind != data::TaskKind::regression) {
    scores.accuracy = 100.0 * static_cast<double>(hits) / static_cast<double>(part.size());
  }
  return scores;
}

}  // namespace lehi::train
