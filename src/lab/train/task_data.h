// A task's data as rows for training. Tables and images are read by src/lab/data, blocks of tokens by src/lab/text.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config.h"

namespace lehi::train {

/// What is predicted: the values of data::TaskKind, and the next token.
enum class Prediction { regression, binary, classification, next_token };

struct Part {
  std::int64_t size = 0;          ///< rows
  std::int64_t rows_at_once = 0;  ///< rows per block of an evaluation, chosen for caches and memory
  /// Copies the rows `index` (int64) into inputs and targets, whose memory is reused. `epoch` (0, 1, ...) determines
  /// the crops of augmented images.
  std::function<void(const torch::Tensor& index, std::int64_t epoch, torch::Tensor& inputs, torch::Tensor& targets)>
      take;
};

struct TaskData {
  Prediction prediction = Prediction::regression;
  Part train;
  std::optional<Part> validation;
  Part test;
  std::int64_t inputs = 0;           ///< values per row, for an mlp
  std::int64_t outputs = 0;          ///< 1, number of classes, or size of the vocabulary
  std::vector<std::string> notices;  ///< messages for the reader of the results, one sentence each
};

/// Whether a task is on text: ptb, fineweb-edu, text:FILE.
bool is_text_task(const std::string& task);

/// Loads the configuration's data. Throws std::invalid_argument for a wrong configuration and data::DataError for files
/// that are missing or can't be used. on_message is called before work that takes long.
TaskData load_task(const RunConfig& config, const std::string& data_dir,
                   const std::function<void(const std::string&)>& on_message);

}  // namespace lehi::train
