// A task's data as training sees it: rows, whatever they are stored as. Tables and images come from src/lab/data,
// blocks of tokens from src/lab/text.
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

/// What is predicted: as data::TaskKind, and the next token.
enum class Prediction { regression, binary, classification, next_token };

struct Part {
  std::int64_t size = 0;          ///< rows
  std::int64_t rows_at_once = 0;  ///< that an evaluation takes, by what fits into caches and memory
  /// Copies the rows that `index` (int64) lists; the tensors are reused where they fit. `epoch` (0, 1, ...) decides the
  /// crops of augmented images.
  std::function<void(const torch::Tensor& index, std::int64_t epoch, torch::Tensor& inputs, torch::Tensor& targets)>
      take;
};

struct TaskData {
  Prediction prediction = Prediction::regression;
  Part train;
  std::optional<Part> validation;
  Part test;
  std::int64_t inputs = 0;           ///< of a row, where the model asks (mlp)
  std::int64_t outputs = 0;          ///< 1, classes, or the vocabulary
  std::vector<std::string> notices;  ///< what a reader of the results should know, one sentence each
};

/// True for the tasks on text: ptb, fineweb-edu, text:FILE.
bool is_text_task(const std::string& task);

/// Loads what the configuration asks for. Throws std::invalid_argument for a wrong request and data::DataError for
/// files that are missing or can't be used. on_message hears of what takes long.
TaskData load_task(const RunConfig& config, const std::string& data_dir,
                   const std::function<void(const std::string&)>& on_message);

}  // namespace lehi::train
