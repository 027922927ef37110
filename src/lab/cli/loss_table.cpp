#include "cli/loss_table.h"

#include "lehi/cross_entropy.h"
#include "lehi/losses.h"
#include "runtime/names.h"

namespace lehi::cli {
namespace {

template <class L>
std::unique_ptr<Loss> plain(const LossNumbers& /*numbers*/) {
  return std::make_unique<L>();
}

std::unique_ptr<Loss> cross_entropy(const LossNumbers& numbers) {
  CrossEntropyOptions options;
  options.label_smoothing = numbers.label_smoothing.value_or(options.label_smoothing);
  return std::make_unique<CrossEntropy>(options);
}

std::unique_ptr<Loss> huber(const LossNumbers& numbers) {
  return std::make_unique<Huber>(numbers.delta.value_or(Huber().delta()));
}

std::unique_ptr<Loss> focal(const LossNumbers& numbers) {
  const Focal usual;
  return std::make_unique<Focal>(numbers.gamma.value_or(usual.gamma()), numbers.alpha.value_or(usual.alpha()));
}

}  // namespace

const std::vector<LossEntry>& loss_table() {
  static const std::vector<LossEntry> table = {
      {"mse", "half the squared error, 1/2 |p - y|^2", plain<MeanSquaredError>, ""},
      {"bce", "binary cross-entropy with logits; targets in [0, 1]", plain<BinaryCrossEntropy>, ""},
      {"cross-entropy", "softmax cross-entropy; targets are class indices or probabilities", cross_entropy,
       "label-smoothing"},
      {"huber", "quadratic up to an error of delta, linear beyond", huber, "delta"},
      {"log-cosh", "log cosh of the error, a smooth Huber loss", plain<LogCosh>, ""},
      {"poisson-nll", "Poisson negative log-likelihood; predictions are log rates, targets >= 0", plain<PoissonNll>,
       ""},
      {"squared-hinge", "squared hinge; targets -1 or 1", plain<SquaredHinge>, ""},
      {"focal", "sigmoid focal loss; targets 0 or 1", focal, "gamma alpha"},
  };
  return table;
}

std::unique_ptr<Loss> make_loss(std::string_view name, const LossNumbers& numbers) {
  NameTable<const LossEntry*> names;
  for (const auto& entry : loss_table()) names.emplace_back(&entry, entry.name);
  const auto& entry = *value_in(names, name, "loss");
  const std::vector<std::pair<std::string_view, bool>> given = {
      {"delta", numbers.delta.has_value()},
      {"gamma", numbers.gamma.has_value()},
      {"alpha", numbers.alpha.has_value()},
      {"label-smoothing", numbers.label_smoothing.has_value()}};
  for (const auto& [number, is_given] : given) {
    if (is_given && entry.numbers.find(number) == std::string_view::npos) {
      throw_invalid_argument("the loss {} has no {}; leave out --{}", name, number, number);
    }
  }
  return entry.make(numbers);
}

}  // namespace lehi::cli
