// Columns of a table as float32 tensors: standardised numbers and one-hot categories, fitted to the training rows.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/csv.h"

namespace lehi::data {

/// The largest number of categories of a string column or classes of a target. A column with more is rejected: most
/// likely it holds names, or numbers with a typing error.
inline constexpr std::size_t max_categories = 256;

/// A new order of a table's rows: the training part, then the test part.
struct RowOrder {
  std::vector<std::int64_t> rows;
  std::size_t train = 0;
};

template <class T>
std::vector<T> reordered(const std::vector<T>& values, const RowOrder& order) {
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

/// `values` minus the mean of the first `train`, divided by their standard deviation: [N, 1]. Throws DataError, naming
/// the column, if the variance or a result is out of range.
torch::Tensor standardised(const std::vector<double>& values, std::size_t train, const std::string& name);

/// One 0/1 column for each category of the first `train` values, sorted by bytes: [N, categories]. Adds a notice if
/// other rows have further categories. Throws DataError for too many categories.
torch::Tensor one_hot(const Strings& values, std::size_t train, const std::string& name,
                      std::vector<std::string>& notices);

}  // namespace lehi::data
