// Loads a data set from its files.
//
//   protein                 CASP.csv: 9 features, target RMSD (the first column), 80/20 split by seed
//   mnist, fashion-mnist    28 x 28 images flattened to 784 values, normalised by the task's usual mean and deviation
//   cifar10, cifar100       32 x 32 colour images, each channel normalised by its own constants: see cifar.h
//   csv:FILE                the user's table: see tabular.h
//
// The result depends on the request and the files only: no global state, generator or clock is used.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace lehi::data {

struct DataRequest {
  std::string task;      ///< "protein", "mnist", "fashion-mnist", "cifar10", "cifar100" or "csv:FILE"
  std::string data_dir;  ///< the data directory (find_files.h); "" for the default
  std::string target;    ///< csv only: the column to predict
  std::string kind;  ///< csv only: "regression", "binary", "classification", or "" to infer it from the target column
  std::uint64_t seed = 0;  ///< of the train/test split, for tasks without an official one
};

/// Throws std::invalid_argument for a wrong request and DataError for files that are missing or can't be used.
Dataset load_dataset(const DataRequest& request);

}  // namespace lehi::data
