// Data sets as tensors, ready for training, and the one call that loads them.
//
//   protein                 CASP.csv: 9 features, target RMSD (the first column), 80/20 split by seed
//   mnist, fashion-mnist    28 x 28 images flattened to 784, normalised by the task's usual mean and deviation
//   cifar10, cifar100       32 x 32 images in three colours, each normalised by its own: see cifar.h
//   csv:FILE                the user's table: see tabular.h
//
// Everything about a data set follows from the request; no global state, generator or clock enters.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows.h"

namespace lehi::data {

/// What is predicted, and so which loss fits: mean squared error, binary cross-entropy, cross-entropy.
enum class TaskKind { regression, binary, classification };

std::string_view kind_name(TaskKind kind);

struct Split {
  torch::Tensor inputs;   ///< [N, inputs]: float32, or uint8 (images) that stand for what `bytes` says
  torch::Tensor targets;  ///< regression and binary: float32 [N, 1]; classification: int64 [N]
  ByteScale bytes = {};
  std::optional<ImageScale> image = {};  ///< colour images: instead of bytes; values are [rows, channels, side, side]

  std::int64_t size() const { return inputs.size(0); }

  /// float32: the inputs of the rows first, first + 1, ..., and of those that `index` lists.
  torch::Tensor values(std::int64_t first, std::int64_t rows) const;
  torch::Tensor values() const { return values(0, size()); }
  void take_values(const torch::Tensor& index, torch::Tensor& to) const;
};

struct Dataset {
  std::string task;
  TaskKind kind = TaskKind::regression;
  Split train;
  std::optional<Split> validation;
  Split test;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;          ///< 1, or the number of classes
  std::vector<std::string> notices;  ///< what a reader of the results should know, one sentence each
};

struct DataRequest {
  std::string task;        ///< "protein", "mnist", "fashion-mnist", "cifar10", "cifar100" or "csv:FILE"
  std::string data_dir;    ///< holds one folder a task; "" for the default (catalogue.h)
  std::string target;      ///< csv only: the column to predict
  std::string kind;        ///< csv only: "regression", "binary", "classification", or "" to go by the target's type
  std::uint64_t seed = 0;  ///< of the train/test split, where a task has no official one
};

/// Throws std::invalid_argument for a wrong request and DataError for files that are missing or can't be used.
Dataset load_dataset(const DataRequest& request);

/// Moves `fraction` (between 0 and 1) of the training rows, chosen by `seed`, to a validation part. Standardised data
/// keeps the scale of the whole training part.
Dataset with_validation(Dataset dataset, double fraction, std::uint64_t seed);

/// The first rows of the training and the test part, for trials; 0: all of them. A notice says so.
Dataset limited(Dataset dataset, std::int64_t train_rows, std::int64_t test_rows);

}  // namespace lehi::data
