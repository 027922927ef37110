#include "train/task_data.h"

#include <algorithm>
#include <memory>

#include "base/failure.h"
#include "data/augment.h"
#include "data/load_dataset.h"
#include "data/rows.h"
#include "runtime/message.h"
#include "text/corpus.h"

namespace lehi::train {

using torch::Tensor;

namespace {

// A network's activations for images are large.
constexpr std::int64_t table_rows_at_once = 2048;
constexpr std::int64_t image_rows_at_once = 200;
constexpr std::int64_t tokens_at_once = 2048;

Prediction prediction_of(data::TaskKind kind) {
  switch (kind) {
    case data::TaskKind::regression:
      return Prediction::regression;
    case data::TaskKind::binary:
      return Prediction::binary;
    case data::TaskKind::classification:
      return Prediction::classification;
  }
  return {};
}

Part part_of(data::Split split, bool images) {
  const auto shared = std::make_shared<const data::Split>(std::move(split));
  return {shared->size(), images ? image_rows_at_once : table_rows_at_once,
          [shared](const Tensor& index, std::int64_t /*epoch*/, Tensor& inputs, Tensor& targets) {
            shared->take_values(index, inputs);
            data::take_rows(shared->targets, index, targets);
          }};
}

Part augmented_part(data::Split split, std::uint64_t seed) {
  const auto shared = std::make_shared<const data::Split>(std::move(split));
  return {shared->size(), image_rows_at_once,
          [shared, seed](const Tensor& index, std::int64_t epoch, Tensor& inputs, Tensor& targets) {
            data::take_crops(*shared, index, seed, epoch, inputs);
            data::take_rows(shared->targets, index, targets);
          }};
}

Part part_of(const text::TokenData& tokens, std::int64_t length) {
  const auto blocks = tokens.blocks(length);
  return {blocks.size(), std::max<std::int64_t>(1, tokens_at_once / length),
          [blocks](const Tensor& index, std::int64_t /*epoch*/, Tensor& inputs, Tensor& targets) {
            const auto block_length = static_cast<std::size_t>(blocks.length());
            for (Tensor* tensor : {&inputs, &targets}) {
              if (!tensor->defined()) *tensor = torch::empty({0}, torch::kInt64);
              tensor->resize_({index.size(0), blocks.length()});
            }
            const std::int64_t* rows = index.data_ptr<std::int64_t>();
            for (std::int64_t i = 0; i < index.size(0); ++i) {
              const std::int64_t place = i * blocks.length();
              blocks.copy(rows[i], {inputs.data_ptr<std::int64_t>() + place, block_length},
                          {targets.data_ptr<std::int64_t>() + place, block_length});
            }
          }};
}

TaskData load_rows(const RunConfig& config, const std::string& data_dir) {
  const std::uint64_t split = config.split >= 0 ? static_cast<std::uint64_t>(config.split) : config.seed;
  data::Dataset dataset = data::load_dataset({config.task, data_dir, config.target, config.kind, split});
  dataset = data::limited(std::move(dataset), config.train_rows, config.test_rows);
  if (config.validation > 0.0) dataset = data::with_validation(std::move(dataset), config.validation, config.seed);
  TaskData task;
  task.prediction = prediction_of(dataset.kind);
  task.inputs = dataset.inputs;
  task.outputs = dataset.outputs;
  task.notices = std::move(dataset.notices);
  const bool images = dataset.train.image.has_value();
  if (config.augment && !images) {
    throw_invalid_argument("data.augment is only for colour images (cifar10, cifar100); task {} has none", config.task);
  }
  task.train = config.augment ? augmented_part(std::move(dataset.train), config.seed)
                              : part_of(std::move(dataset.train), images);
  if (dataset.validation) task.validation = part_of(std::move(*dataset.validation), images);
  task.test = part_of(std::move(dataset.test), images);
  return task;
}

TaskData load_text(const RunConfig& config, const std::string& data_dir,
                   const std::function<void(const std::string&)>& on_message) {
  text::CorpusRequest request;
  request.task = config.task;
  request.corpus = config.text.corpus;
  request.tokenizer = text::tokenizer_named(config.text.tokenizer);
  request.data_dir = data_dir;
  request.field = config.text.field;
  request.validation = config.validation;
  request.test = config.text.test;
  request.train_tokens = config.text.train_tokens;
  request.test_tokens = config.text.test_tokens;
  request.on_message = on_message;
  const text::Corpus corpus = text::load_corpus(request);
  TaskData task;
  task.prediction = Prediction::next_token;
  task.outputs = corpus.vocabulary;
  task.notices = corpus.notices;
  task.train = part_of(corpus.train, config.text.block);
  if (corpus.validation) task.validation = part_of(*corpus.validation, config.text.block);
  task.test = part_of(corpus.test, config.text.block);
  return task;
}

}  // namespace

bool is_text_task(const std::string& task) {
  return task == "ptb" || task == "fineweb-edu" || task.starts_with("text:");
}

TaskData load_task(const RunConfig& config, const std::string& data_dir,
                   const std::function<void(const std::string&)>& on_message) {
  const base::Activity loading(fmt::format("load the data of task {}", config.task));
  return is_text_task(config.task) ? load_text(config, data_dir, on_message) : load_rows(config, data_dir);
}

}  // namespace lehi::train
