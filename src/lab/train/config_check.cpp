// The allowed values of a configuration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/message.h"
#include "train/config.h"

namespace lehi::train {
namespace {

void check_range(std::string_view key, double value, double low, double high, std::string_view range) {
  if (!(value >= low && value <= high)) throw_invalid_argument("{} is {}, but must be {}", key, value, range);
}

void check_at_least(std::string_view key, std::int64_t value, std::int64_t low) {
  if (value < low) throw_invalid_argument("{} is {}, but must be at least {}", key, value, low);
}

void check_one_of(std::string_view key, std::string_view value, std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw_invalid_argument("{} is '{}', but must be one of {}", key, value, fmt::join(known, ", "));
}

void check(const ModelConfig& model) {
  check_one_of("model.kind", model.kind, {"mlp", "resnet", "gpt2", "llama"});
  constexpr std::int64_t largest = 1 << 20;
  const auto check_sizes = [&](std::string_view key, const std::vector<std::int64_t>& sizes) {
    if (sizes.size() > 64) throw_invalid_argument("{} has {} entries, but may have at most 64", key, sizes.size());
    for (const std::int64_t size : sizes) {
      check_at_least(key, size, 1);
      if (size > largest) throw_invalid_argument("{} has an entry of {}, but may be at most {}", key, size, largest);
    }
  };
  check_sizes("model.hidden", model.hidden);
  check_sizes("model.blocks", model.blocks);
  const std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers = {
      {"model.width", model.width},         {"model.layers", model.layers}, {"model.heads", model.heads},
      {"model.key_heads", model.key_heads}, {"model.inner", model.inner},   {"model.context", model.context},
      {"model.chunk", model.chunk}};
  for (const auto& [key, value] : numbers) {
    check_at_least(key, value, 0);
    if (value > largest) throw_invalid_argument("{} is {}, but may be at most {}", key, value, largest);
  }
  check_range("model.rotary_base", model.rotary_base, 1.0, 1e12, "in [1, 1e12]");
  check_range("model.rotary_factor", model.rotary_factor, 1.0, 1e6, "in [1, 1e6]");
  check_range("model.dropout", model.dropout, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
}

void check(const TextConfig& text) {
  check_one_of("text.tokenizer", text.tokenizer, {"gpt2", "llama3", "bytes"});
  check_one_of("text.corpus", text.corpus, {"", "speeches"});
  check_at_least("text.block", text.block, 1);
  check_range("text.test", text.test, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
  check_at_least("text.train_tokens", text.train_tokens, 0);
  check_at_least("text.test_tokens", text.test_tokens, 0);
}

// The library checks these too; here the messages use the names of the configuration.
void check_low_memory(const RunConfig& config) {
  const Options& optimizer = config.optimizer;
  if (!optimizer.update_during_pull_back) return;
  constexpr std::string_view why = "it changes weights before the whole gradient is known";
  if (optimizer.clip_norm) {
    throw_invalid_argument("train.low_memory cannot be combined with optimizer.clip_norm: {}", why);
  }
  if (config.accumulate > 1) {
    throw_invalid_argument("train.low_memory cannot be combined with train.accumulate = {}: {}", config.accumulate,
                           why);
  }
  if (optimizer.non_finite == NonFinite::record) return;
  throw_invalid_argument(
      "train.low_memory cannot be combined with optimizer.non_finite = {}, which would have to undo updates; choose record",
      name(optimizer.non_finite));
}

}  // namespace

void check(const RunConfig& config) {
  check_at_least("train.epochs", config.epochs, 0);
  check_at_least("train.steps", config.steps, 0);
  if (config.epochs == 0 && config.steps == 0)
    throw_invalid_argument("train.epochs and train.steps are both 0: set one of them");
  if (config.epochs != 0 && config.steps != 0)
    throw_invalid_argument("train.epochs and train.steps are both set: choose one");
  check_at_least("train.batch_size", config.batch_size, 1);
  check_at_least("train.accumulate", config.accumulate, 1);
  if (config.accumulate > config.batch_size) {
    throw_invalid_argument("train.accumulate is {}, but a step has only {} rows to split", config.accumulate,
                           config.batch_size);
  }
  check_at_least("train.evaluate_every", config.evaluate_every, 0);
  check_at_least("train.threads", config.threads, 0);
  check(config.model);
  check(config.text);
  check_at_least("data.train_rows", config.train_rows, 0);
  check_at_least("data.test_rows", config.test_rows, 0);
  check_range("data.validation", config.validation, 0.0, std::nextafter(1.0, 0.0), "in [0, 1)");
  check_at_least("data.split", config.split, -1);
  check_at_least("rate.warmup", config.rate.warmup, 0);
  check_range("rate.decay", config.rate.decay, std::numeric_limits<double>::min(), 1.0, "in (0, 1]");
  check_range("rate.floor", config.rate.floor, 0.0, 1.0, "in [0, 1]");
  check_at_least("checkpoint.every", config.checkpoint_every, 0);
  check_at_least("checkpoint.keep", config.keep, 0);
  check_one_of("distributed.compress", config.distributed.compress, {"none", "bfloat16"});
  check_range("distributed.bucket_mb", config.distributed.bucket_mb, 1e-3, 1e5, "in [0.001, 100000]");
  check_at_least("judge.window", config.judge.window, 1);
  check_at_least("judge.cut", config.judge.cut, 0);
  check_range("judge.smoothing", config.judge.smoothing, std::numeric_limits<double>::min(), 1.0, "in (0, 1]");
  for (const double rate : config.judge.rates) {
    check_range("judge.rates", rate, std::numeric_limits<double>::min(), 1e6, "positive rates");
  }
  check_low_memory(config);
  lehi::check(config.optimizer);
}

}  // namespace lehi::train
