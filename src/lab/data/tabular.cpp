#include "data/tabular.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/numbers.h"
#include "data/column_encoding.h"
#include "data/error.h"
#include "data/permutation.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

constexpr std::int64_t fewest_rows = 10;
constexpr std::size_t few_values = 20;  // an integer target with at most this many values may be meant as classes

torch::Tensor encode_inputs(const Table& table, const Column& target, const RowOrder& order, Dataset& dataset) {
  std::vector<torch::Tensor> blocks;
  for (const Column& column : table.columns) {
    if (&column == &target) continue;
    std::visit(
        [&](const auto& values) {
          const auto ordered = reordered(values, order);
          if (constant_on_train(ordered, order.train)) {
            dataset.notices.push_back(
                fmt::format("column '{}' is constant in the training rows and was dropped", column.name));
          } else if constexpr (std::is_same_v<decltype(values), const Numbers&>) {
            blocks.push_back(standardised(ordered, order.train, column.name));
          } else {
            blocks.push_back(one_hot(ordered, order.train, column.name, dataset.notices));
          }
        },
        column.values);
  }
  if (blocks.empty()) {
    throw_data_error("{} has no usable input column besides the target '{}'; are its columns separated by commas?",
                     table.source, target.name);
  }
  return torch::cat(blocks, 1);
}

// A target's class number for each row, and the name of each class.
struct Classes {
  std::vector<std::int64_t> of_row;
  std::vector<std::string> names;
};

Classes classes_of(const Column& target) {
  Classes classes;
  std::visit(
      [&](const auto& values) {
        const std::set distinct(values.begin(), values.end());
        const std::vector sorted(distinct.begin(), distinct.end());
        classes.names.reserve(sorted.size());
        classes.of_row.reserve(values.size());
        for (const auto& value : sorted) classes.names.push_back(fmt::format("{}", value));
        for (const auto& value : values) {
          classes.of_row.push_back(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
        }
      },
      target.values);
  return classes;
}

torch::Tensor encode_classes(const Table& table, const Column& target, const std::string& kind, const RowOrder& order,
                             Dataset& dataset) {
  if (target.numeric()) {
    for (std::size_t i = 0; i < target.numbers().size(); ++i) {
      if (const double value = target.numbers()[i]; value != std::floor(value)) {
        throw_data_error("{} line {}: classes must be whole numbers or strings, but target '{}' is {}", table.source,
                         table.lines[i], target.name, value);
      }
    }
  }
  const Classes classes = classes_of(target);
  const std::size_t count = classes.names.size();
  if (count < 2)
    throw_data_error("{}: target '{}' has only one class, '{}'", table.source, target.name, classes.names.front());
  if (kind == "binary" && count != 2) {
    throw_data_error("{}: kind binary needs two classes, but target '{}' has {}", table.source, target.name, count);
  }
  if (count > max_categories) {
    throw_data_error("{}: target '{}' has {} classes, but at most {} are supported; is it meant for regression?",
                     table.source, target.name, count, max_categories);
  }
  const auto ordered = reordered(classes.of_row, order);
  const std::set<std::int64_t> in_train(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(order.train));
  if (in_train.size() < count) {
    dataset.notices.push_back(fmt::format("{} of the {} classes of target '{}' occur in no training row",
                                          count - in_train.size(), count, target.name));
  }
  auto targets = torch::tensor(ordered, torch::kInt64);
  dataset.kind = TaskKind::classification;
  dataset.outputs = static_cast<std::int64_t>(count);
  if (count > 2) return targets;
  dataset.kind = TaskKind::binary;
  dataset.outputs = 1;
  dataset.notices.push_back(fmt::format("target '{}' has two classes: one output, binary cross-entropy, '{}' is 1",
                                        target.name, classes.names.back()));
  return targets.to(torch::kFloat32).unsqueeze(1);
}

torch::Tensor encode_regression(const Table& table, const Column& target, const std::string& kind,
                                const RowOrder& order, Dataset& dataset) {
  if (!target.numeric()) {
    const auto& values = target.strings();
    const auto bad =
        std::find_if(values.begin(), values.end(), [](const auto& value) { return !base::parse_number(value); });
    throw_data_error("{} line {}: target '{}' is '{}', which is not a number; regression needs numbers", table.source,
                     table.lines[static_cast<std::size_t>(bad - values.begin())], target.name, *bad);
  }
  const auto& numbers = target.numbers();
  const std::set<double> distinct(numbers.begin(), numbers.end());
  if (kind.empty() && distinct.size() <= few_values &&
      std::all_of(distinct.begin(), distinct.end(), [](double value) { return value == std::floor(value); })) {
    dataset.notices.push_back(
        fmt::format("target '{}' has only {} different whole numbers and is predicted by regression; with kind "
                    "classification they would be classes",
                    target.name, distinct.size()));
  }
  const auto ordered = reordered(numbers, order);
  if (constant_on_train(ordered, order.train)) {
    throw_data_error("{}: target '{}' is {} in every training row; there is nothing to learn", table.source,
                     target.name, ordered.front());
  }
  dataset.kind = TaskKind::regression;
  dataset.outputs = 1;
  return standardised(ordered, order.train, target.name);
}

const Column& find_column(const Table& table, const std::string& name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  if (found != table.columns.end()) return *found;
  std::vector<std::string> names;
  names.reserve(table.columns.size());
  for (const Column& column : table.columns) names.push_back(column.name);
  throw_data_error("{} has no column '{}'; its columns are {}", table.source, name, fmt::join(names, ", "));
}

}  // namespace

Dataset tabular_dataset(const Table& table, const std::string& target, const std::string& kind, std::uint64_t seed) {
  if (!kind.empty() && kind != "regression" && kind != "binary" && kind != "classification") {
    throw_invalid_argument("kind '{}' is unknown; use regression, binary or classification", kind);
  }
  const Column& column = find_column(table, target);
  if (table.rows() < fewest_rows) {
    throw_data_error("{} has {} rows; at least {} are needed for a training and a test part", table.source,
                     table.rows(), fewest_rows);
  }
  const std::int64_t test = table.rows() / 5;
  const std::int64_t train = table.rows() - test;
  const RowOrder order{permutation(table.rows(), seed, Draw::test_split), static_cast<std::size_t>(train)};

  Dataset dataset;
  const bool regression = kind == "regression" || (kind.empty() && column.numeric());
  const torch::Tensor targets = (regression ? encode_regression : encode_classes)(table, column, kind, order, dataset);
  const torch::Tensor inputs = encode_inputs(table, column, order, dataset);
  dataset.inputs = inputs.size(1);
  dataset.train = {inputs.narrow(0, 0, train).clone(), targets.narrow(0, 0, train).clone()};
  dataset.test = {inputs.narrow(0, train, test).clone(), targets.narrow(0, train, test).clone()};
  return dataset;
}

}  // namespace lehi::data
