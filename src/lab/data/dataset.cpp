#include "data/dataset.h"

#include <cmath>

#include "data/permutation.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

torch::Tensor copy_of_rows(const torch::Tensor& values, const torch::Tensor& index) {
  auto sizes = values.sizes().vec();
  sizes.front() = index.size(0);
  auto result = torch::empty(sizes, values.options());
  use_large_pages(result);
  return torch::index_select_out(result, values, 0, index);
}

void keep_first(Split& part, std::string_view name, std::int64_t count) {
  if (count < 0 || count > part.size()) {
    throw_invalid_argument("a limit of {} {} rows is out of range: expected 1 to {}, or 0 for all of them", count, name,
                           part.size());
  }
  if (count == 0) return;
  part.inputs = part.inputs.narrow(0, 0, count);
  part.targets = part.targets.narrow(0, 0, count);
}

}  // namespace

torch::Tensor Split::values(std::int64_t first, std::int64_t rows) const {
  const auto part = inputs.narrow(0, first, rows);
  if (image) return scaled(part, *image);
  return part.scalar_type() == torch::kUInt8 ? scaled(part, bytes) : part;
}

void Split::take_values(const torch::Tensor& index, torch::Tensor& to) const {
  if (image) return take_rows(inputs, index, *image, to);
  if (inputs.scalar_type() == torch::kUInt8) return take_rows(inputs, index, bytes, to);
  take_rows(inputs, index, to);
}

Dataset with_validation(Dataset dataset, double fraction, std::uint64_t seed) {
  if (dataset.validation) throw_invalid_argument("task {} already has a validation part", dataset.task);
  const std::int64_t size = dataset.train.size();
  const auto held_out = std::llround(fraction * static_cast<double>(size));
  if (!(fraction > 0.0 && fraction < 1.0) || held_out < 1 || held_out >= size) {
    throw_invalid_argument(
        "a validation fraction of {} leaves no rows for training or for validation; there are {} rows", fraction, size);
  }
  const auto order = torch::tensor(permutation(size, seed, Draw::validation_split), torch::kInt64);
  const auto part = [&](std::int64_t start, std::int64_t length) {
    const auto index = order.narrow(0, start, length);
    Split chosen = dataset.train;
    chosen.inputs = copy_of_rows(dataset.train.inputs, index);
    chosen.targets = copy_of_rows(dataset.train.targets, index);
    return chosen;
  };
  dataset.validation = part(0, held_out);
  dataset.train = part(held_out, size - held_out);
  return dataset;
}

Dataset limited(Dataset dataset, std::int64_t train_rows, std::int64_t test_rows) {
  const std::int64_t all_train = dataset.train.size();
  const std::int64_t all_test = dataset.test.size();
  keep_first(dataset.train, "training", train_rows);
  keep_first(dataset.test, "test", test_rows);
  if (dataset.train.size() != all_train || dataset.test.size() != all_test) {
    dataset.notices.push_back(fmt::format("only the first {} of {} training and {} of {} test rows are used",
                                          dataset.train.size(), all_train, dataset.test.size(), all_test));
  }
  return dataset;
}

}  // namespace lehi::data
