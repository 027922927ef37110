// A data set as tensors, ready for training: its parts, and operations on them. load_dataset.h loads one.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows.h"

namespace lehi::data {

/// What is predicted. It decides the loss: mean squared error, binary cross-entropy or cross-entropy.
enum class TaskKind { regression, binary, classification };

struct Split {
  torch::Tensor inputs;   ///< [N, inputs]: float32, or uint8 for images, converted by `bytes` or `image`
  torch::Tensor targets;  ///< regression and binary: float32 [N, 1]; classification: int64 [N]
  ByteScale bytes = {};
  std::optional<ImageScale> image =
      {};  ///< for colour images, instead of `bytes`: values are [rows, channels, side, side]

  std::int64_t size() const { return inputs.size(0); }

  /// The inputs of rows first, first + 1, ... as float32.
  torch::Tensor values(std::int64_t first, std::int64_t rows) const;
  torch::Tensor values() const { return values(0, size()); }
  /// The inputs of the rows in `index` as float32, into `to`.
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

/// Moves `fraction` (between 0 and 1) of the training rows, chosen by `seed`, to a validation part. Standardised data
/// keeps the scale of the whole training part.
Dataset with_validation(Dataset dataset, double fraction, std::uint64_t seed);

/// Keeps the first rows of the training and the test part, for trial runs, and adds a notice; 0 keeps all rows.
Dataset limited(Dataset dataset, std::int64_t train_rows, std::int64_t test_rows);

}  // namespace lehi::data
