#include "train/task_model.h"

#include <fmt/ranges.h>

#include "model/gpt2.h"
#include "model/llama.h"
#include "model/mlp.h"
#include "model/resnet.h"
#include "plan/sides.h"
#include "runtime/message.h"
#include "train/task_data.h"

namespace lehi::train {
namespace {

using model::ParameterShape;

std::vector<std::int64_t> mlp_sizes(const RunConfig& config, const TaskSize& size) {
  std::vector<std::int64_t> sizes{size.inputs};
  sizes.insert(sizes.end(), config.model.hidden.begin(), config.model.hidden.end());
  sizes.push_back(size.outputs);
  return sizes;
}

model::ResNetShape resnet_shape(const RunConfig& config, const TaskSize& size) {
  return {.classes = size.outputs, .width = config.model.width, .blocks = config.model.blocks};
}

std::int64_t checked_context(const RunConfig& config) {
  const std::int64_t context = context_of(config);
  if (config.text.block > context) {
    throw_invalid_argument("text.block is {}, but the model reads at most model.context = {} tokens", config.text.block,
                           context);
  }
  return context;
}

model::Gpt2Shape gpt2_shape(const RunConfig& config, const TaskSize& size) {
  const ModelConfig& model = config.model;
  return {.vocabulary = size.outputs,
          .context = checked_context(config),
          .width = model.width,
          .layers = model.layers,
          .heads = model.heads,
          .dropout = model.dropout};
}

model::LlamaShape llama_shape(const RunConfig& config, const TaskSize& size) {
  const ModelConfig& model = config.model;
  return {.vocabulary = size.outputs,
          .context = checked_context(config),
          .width = model.width,
          .layers = model.layers,
          .heads = model.heads,
          .key_heads = model.key_heads,
          .inner = model.inner,
          .rotary_base = model.rotary_base,
          .scaling = {.factor = model.rotary_factor},
          .dropout = model.dropout};
}

// Throws if the model can't read the task's rows, before anything is created.
void check_fit(const RunConfig& config) {
  const std::string& kind = config.model.kind;
  const bool reads_tokens = kind == "gpt2" || kind == "llama";
  if (reads_tokens != is_text_task(config.task)) {
    throw_invalid_argument(
        "model.kind {} does not fit task {}: gpt2 and llama are for text, mlp and resnet for tables and images", kind,
        config.task);
  }
  const bool colour = config.task == "cifar10" || config.task == "cifar100";
  if ((kind == "resnet") != colour) {
    throw_invalid_argument("model.kind {} does not fit task {}: resnet is for cifar10 and cifar100, mlp for the others",
                           kind, config.task);
  }
}

// The matrices' Kronecker factors and bases, as the optimizer will choose their sides.
std::int64_t factor_numbers(const RunConfig& config, const std::vector<ParameterShape>& parameters) {
  const Recipe& recipe = config.optimizer.recipe;
  if (recipe.shape != Shape::kronecker) return 0;
  const bool text = is_text_task(config.task);
  const auto predictions = static_cast<double>(config.batch_size) * static_cast<double>(text ? config.text.block : 1);
  std::int64_t numbers = 0;
  std::int64_t last = 0;  // those of the last matrix: model::options_for() keeps it diagonal
  for (const auto& [name, sizes] : parameters) {
    if (sizes.size() < 2) continue;
    MatrixSize size{.rows = sizes[0], .convolution = sizes.size() > 2};
    for (std::size_t i = 1; i < sizes.size(); ++i) size.columns *= sizes[i];
    const ShapeRules& rules = config.optimizer.shapes;
    const TurnedSides sides = is_named(name, rules.diagonal_names)
                                  ? TurnedSides{}
                                  : turned_sides(recipe.kronecker, size, predictions, rules.largest_side);
    last = lehi::factor_numbers(recipe.kronecker, size, sides);
    numbers += last;
  }
  return text ? numbers : numbers - last;  // language models have a head that is among diagonal_names
}

bool factors_can_be_fewer(const RunConfig& config) {
  const Recipe& recipe = config.optimizer.recipe;
  return recipe.shape == Shape::kronecker && recipe.kronecker.sides != Sides::smaller;
}

}  // namespace

std::vector<ParameterShape> model_parameters(const RunConfig& config, const TaskSize& size) {
  check_fit(config);
  if (config.model.kind == "resnet") return model::resnet_parameters(resnet_shape(config, size));
  if (config.model.kind == "gpt2") return model::gpt2_parameters(gpt2_shape(config, size));
  if (config.model.kind == "llama") return model::llama_parameters(llama_shape(config, size));
  return model::mlp_parameters(mlp_sizes(config, size));
}

std::unique_ptr<model::Network> make_model(const RunConfig& config, const TaskSize& size) {
  check_fit(config);
  const bool recompute = config.model.recompute;
  if (config.model.kind == "resnet") return model::make_resnet(resnet_shape(config, size), config.seed, recompute);
  if (config.model.kind == "gpt2") return model::make_gpt2(gpt2_shape(config, size), config.seed, recompute);
  if (config.model.kind == "llama") return model::make_llama(llama_shape(config, size), config.seed, recompute);
  return std::make_unique<model::Mlp>(mlp_sizes(config, size), config.seed);
}

std::string describe_model(const RunConfig& config, const TaskSize& size) {
  const ModelConfig& model = config.model;
  if (model.kind == "resnet") return fmt::format("resnet {} of {}", fmt::join(model.blocks, "-"), model.width);
  if (model.kind == "mlp") return fmt::format("mlp {}", fmt::join(mlp_sizes(config, size), "-"));
  return fmt::format("{} {} x {}", model.kind, model.layers, model.width);
}

std::int64_t step_bytes(const RunConfig& config, const TaskSize& size, int ranks) {
  const ModelConfig& model = config.model;
  const std::vector<ParameterShape> parameters = model_parameters(config, size);
  const std::int64_t weights = model::parameter_count(parameters);
  // At most two moments, and the factors and bases of matrices.
  const std::int64_t state = 2 * weights + factor_numbers(config, parameters);
  // g and s, of all weights or, with train.low_memory, of the head only.
  const std::int64_t cotangents = config.optimizer.recipe.probe != Probe::gradient ? 2 : 1;
  std::int64_t numbers = weights + state / (config.distributed.shard_optimizer ? ranks : 1);
  if (!config.optimizer.update_during_pull_back) numbers += cotangents * weights;
  if (model.kind == "gpt2" || model.kind == "llama") {
    if (config.optimizer.update_during_pull_back) numbers += cotangents * size.outputs * model.width;
    const std::int64_t tokens = config.batch_size / config.accumulate * config.text.block;
    const std::int64_t inner = model.kind == "gpt2" ? 4 * model.width : model.inner;
    // A block saves six tensors of hidden states (queries, keys and values are three), the inner values once or twice,
    // and one value per head. The backward pass uses as much as two blocks in addition.
    const std::int64_t block = tokens * (6 * model.width + 2 * inner + model.heads);
    numbers += model.recompute ? 3 * block + model.layers * tokens * model.width : (model.layers + 2) * block;
  }
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

void check_memory(const RunConfig& config, const TaskSize& size, int ranks, std::int64_t memory_bytes) {
  const std::int64_t bytes = step_bytes(config, size, ranks);
  if (memory_bytes == 0 || bytes <= memory_bytes) return;
  std::vector<std::string> ways;
  if (!config.optimizer.update_during_pull_back) ways.emplace_back("--low-memory");
  if (!config.model.recompute && config.model.kind != "mlp") ways.emplace_back("--set model.recompute=true");
  if (factors_can_be_fewer(config)) ways.emplace_back("--set optimizer.sides=smaller");
  ways.emplace_back("a smaller --batch-size, --preset small");
  throw_invalid_argument(
      "a step of {} with {} weights and batches of {} needs about {:.0f} GB, and this machine has {:.0f} GB: try {}",
      config.optimizer.name, model::parameter_count(model_parameters(config, size)), config.batch_size,
      static_cast<double>(bytes) / 1e9, static_cast<double>(memory_bytes) / 1e9, fmt::join(ways, ", "));
}

}  // namespace lehi::train
