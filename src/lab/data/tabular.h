// A table as a data set: which column is the target, how the other columns become inputs, which rows are for testing.
//
// - A fifth of the rows, chosen by seed, is the test part. At least 10 rows are needed.
// - Numeric columns are standardised with the mean and the population standard deviation (divided by n, as in
//   scikit-learn) of the training part; so is a regression target. Columns that are constant in the training part are
//   dropped.
// - String columns become one 0/1 column for each category of the training part, sorted by bytes. A category that only
//   the test part has becomes all zeros.
// - A numeric target means regression, a string target classification, unless `kind` says otherwise. Classes are
//   numbered in sorted order. Two classes make a binary task (one output, binary cross-entropy): with a two-class
//   softmax the paper's auxiliary loss would be constant, and LEHI would be plain momentum.
#pragma once

#include <cstdint>
#include <string>

#include "data/csv.h"
#include "data/dataset.h"

namespace lehi::data {

/// `kind` is "", "regression", "binary" or "classification". The result's task is left empty. Throws DataError for a
/// table that can't be used and std::invalid_argument for an unknown kind.
Dataset tabular_dataset(const Table& table, const std::string& target, const std::string& kind, std::uint64_t seed);

}  // namespace lehi::data
