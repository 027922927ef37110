// A table as a data set: which column is the target, how the others become inputs, which rows are for testing.
//
// - A fifth of the rows, chosen by seed, is the test part; at least 10 rows are needed.
// - Numeric columns are standardised with the training part's mean and population standard deviation (divided by n, as
//   scikit-learn does); so is a regression target. Columns that are constant on the training part are dropped.
// - Text columns become one 0/1 column for each category of the training part, in the order of their bytes; a category
// that only
//   the test part has is all zeros.
// - A numeric target means regression, a text target classification, unless `kind` says otherwise. Classes are numbered
// in
//   sorted order. Two classes become a binary task (one output, binary cross-entropy): through a two-class softmax the
//   paper's auxiliary loss is constant, and LEHI would be plain momentum.
#pragma once

#include <cstdint>
#include <string>

#include "data/csv.h"
#include "data/dataset.h"

namespace lehi::data {

/// A text column with more categories than this is refused: most likely it is a name or a number with a typing error.
inline constexpr std::size_t most_categories = 256;

/// `kind` is "", "regression", "binary" or "classification". The result's task is left empty.
Dataset tabular_dataset(const Table& table, const std::string& target, const std::string& kind, std::uint64_t seed);

}  // namespace lehi::data
