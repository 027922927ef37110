#include "data/tabular.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "data/error.h"
#include "data/permutation.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

constexpr std::int64_t fewest_rows = 10;
constexpr std::size_t few_values =
    20;  // an integer target with no more distinct values than this may be meant as classes

// The rows in their new order: first the training part, then the test part.
struct Order {
  std::vector<std::int64_t> rows;
  std::size_t train = 0;
};

template <class T>
std::vector<T> reordered(const std::vector<T>& values, const Order& order) {
  std::vector<T> result;
  result.reserve(values.size());
  for (const std::int64_t row : order.rows) result.push_back(values[static_cast<std::size_t>(row)]);
  return result;
}

template <class T>
bool constant_on_train(const std::vector<T>& values, std::size_t train) {
  return std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(train),
                     [&](const T& value) { return value == values.front(); });
}

torch::Tensor float_columns(std::size_t rows, std::size_t columns) {
  return torch::zeros({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, torch::kFloat32);
}

// Summed one after the other in double: a parallel sum would round differently on another machine.
torch::Tensor standardised(const std::vector<double>& values, std::size_t train, const std::string& name) {
  double sum = 0.0;
  for (std::size_t i = 0; i < train; ++i) sum += values[i];
  const double mean = sum / static_cast<double>(train);
  double squares = 0.0;
  for (std::size_t i = 0; i < train; ++i) squares += (values[i] - mean) * (values[i] - mean);
  const double variance = squares / static_cast<double>(train);
  if (!std::isnormal(variance)) {
    refuse_data("column '{}' can't be standardised: its variance is {}; rescale the column", name, variance);
  }
  auto result = float_columns(values.size(), 1);
  auto* out = result.data_ptr<float>();
  const double deviation = std::sqrt(variance);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scaled = (values[i] - mean) / deviation;
    // A test row may be far from everything that training rows have.
    if (std::abs(scaled) > std::numeric_limits<float>::max()) {
      refuse_data(
          "column '{}' can't be standardised: {} is more deviations of {} away from the mean than a float32 holds",
          name, values[i], deviation);
    }
    out[i] = static_cast<float>(scaled);
  }
  return result;
}

torch::Tensor one_hot(const Texts& values, std::size_t train, const std::string& name,
                      std::vector<std::string>& notices) {
  std::map<std::string, std::size_t> category;
  for (std::size_t i = 0; i < train; ++i) category.emplace(values[i], 0);
  if (category.size() > most_categories) {
    const auto text =
        std::find_if(values.begin(), values.end(), [](const auto& value) { return !parse_number(value); });
    refuse_data(
        "column '{}' has {} different texts (such as '{}') where at most {} can become inputs; correct its values or "
        "remove the column",
        name, category.size(), *text, most_categories);
  }
  std::size_t next = 0;
  for (auto& [text, index] : category) index = next++;
  auto result = float_columns(values.size(), category.size());
  auto* out = result.data_ptr<float>();
  std::int64_t unseen = 0;
  for (std::size_t i = 0; i < values.size(); ++i, out += category.size()) {
    const auto found = category.find(values[i]);
    if (found != category.end()) {
      out[found->second] = 1.0F;
    } else {
      ++unseen;
    }
  }
  if (unseen > 0) {
    notices.push_back(fmt::format(
        "{} test rows have a category of column '{}' that no training row has; it counts as none", unseen, name));
  }
  return result;
}

torch::Tensor encode_inputs(const Table& table, const Column& target, const Order& order, Dataset& dataset) {
  std::vector<torch::Tensor> blocks;
  for (const Column& column : table.columns) {
    if (&column == &target) continue;
    std::visit(
        [&](const auto& values) {
          const auto ordered = reordered(values, order);
          if (constant_on_train(ordered, order.train)) {
            dataset.notices.push_back(
                fmt::format("column '{}' is the same in every training row and was dropped", column.name));
          } else if constexpr (std::is_same_v<decltype(values), const Numbers&>) {
            blocks.push_back(standardised(ordered, order.train, column.name));
          } else {
            blocks.push_back(one_hot(ordered, order.train, column.name, dataset.notices));
          }
        },
        column.values);
  }
  if (blocks.empty()) {
    refuse_data("{} has no column but '{}' to predict it from; are its columns separated by commas?", table.source,
                target.name);
  }
  return torch::cat(blocks, 1);
}

// Class numbers of the target in row order, and the classes' names in the order of their numbers.
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
        for (const auto& value : sorted) classes.names.push_back(fmt::format("{}", value));
        for (const auto& value : values) {
          classes.of_row.push_back(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
        }
      },
      target.values);
  return classes;
}

torch::Tensor encode_classes(const Table& table, const Column& target, const std::string& kind, const Order& order,
                             Dataset& dataset) {
  if (target.numeric()) {
    for (std::size_t i = 0; i < target.numbers().size(); ++i) {
      if (const double value = target.numbers()[i]; value != std::floor(value)) {
        refuse_data("{} line {}: classes must be whole numbers or texts, but target '{}' is {}", table.source,
                    table.lines[i], target.name, value);
      }
    }
  }
  const Classes classes = classes_of(target);
  const std::size_t count = classes.names.size();
  if (count < 2)
    refuse_data("{}: target '{}' has only one class, '{}'", table.source, target.name, classes.names.front());
  if (kind == "binary" && count != 2) {
    refuse_data("{}: kind binary needs two classes, but target '{}' has {}", table.source, target.name, count);
  }
  if (count > most_categories) {
    refuse_data("{}: target '{}' has {} classes, at most {} are supported; is it meant for regression?", table.source,
                target.name, count, most_categories);
  }
  const auto ordered = reordered(classes.of_row, order);
  const std::set<std::int64_t> in_train(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(order.train));
  if (in_train.size() < count) {
    dataset.notices.push_back(fmt::format("{} of the {} classes of target '{}' are in no training row",
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

torch::Tensor encode_regression(const Table& table, const Column& target, const std::string& kind, const Order& order,
                                Dataset& dataset) {
  if (!target.numeric()) {
    const auto& texts = target.texts();
    const auto bad = std::find_if(texts.begin(), texts.end(), [](const auto& text) { return !parse_number(text); });
    refuse_data("{} line {}: target '{}' is '{}', which is not a number; regression needs numbers", table.source,
                table.lines[static_cast<std::size_t>(bad - texts.begin())], target.name, *bad);
  }
  const auto& numbers = target.numbers();
  const std::set<double> distinct(numbers.begin(), numbers.end());
  if (kind.empty() && distinct.size() <= few_values &&
      std::all_of(distinct.begin(), distinct.end(), [](double value) { return value == std::floor(value); })) {
    dataset.notices.push_back(
        fmt::format("target '{}' has only {} different whole numbers and is predicted by regression; kind "
                    "classification would make them classes",
                    target.name, distinct.size()));
  }
  const auto ordered = reordered(numbers, order);
  if (constant_on_train(ordered, order.train)) {
    refuse_data("{}: target '{}' is {} in every training row; there is nothing to learn", table.source, target.name,
                ordered.front());
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
  for (const Column& column : table.columns) names.push_back(column.name);
  refuse_data("{} has no column '{}'; its columns are {}", table.source, name, fmt::join(names, ", "));
}

}  // namespace

Dataset tabular_dataset(const Table& table, const std::string& target, const std::string& kind, std::uint64_t seed) {
  if (!kind.empty() && kind != "regression" && kind != "binary" && kind != "classification") {
    throw_invalid_argument("kind '{}' is unknown; use regression, binary or classification", kind);
  }
  const Column& column = find_column(table, target);
  if (table.rows() < fewest_rows) {
    refuse_data("{} has {} rows; at least {} are needed for a training and a test part", table.source, table.rows(),
                fewest_rows);
  }
  const std::int64_t test = table.rows() / 5;
  const std::int64_t train = table.rows() - test;
  const Order order{permutation(table.rows(), seed, Draw::test_split), static_cast<std::size_t>(train)};

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
