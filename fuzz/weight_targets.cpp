// Readers of weights: safetensors and its shards, llm.c's checkpoints, the config.json next to them.
#include <torch/types.h>

#include <cstring>
#include <map>

#include "harness.h"
#include "targets.h"
#include "train/llmc_weights.h"
#include "train/safetensors.h"
#include "train/weight_settings.h"
#include "train/weight_shards.h"

namespace lehi::fuzz {

using train::NamedTensors;

namespace {

bool same_tensor(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.numel() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0);
}

void check_same(const NamedTensors& before, const NamedTensors& after) {
  std::map<std::string, torch::Tensor> named(before.begin(), before.end());
  require(named.size() == before.size() && before.size() == after.size(), "tensors were lost");
  for (const auto& [name, tensor] : after) {
    const auto found = named.find(name);
    require(found != named.end() && same_tensor(found->second, tensor), "a tensor's copy differs");
  }
}

NamedTensors read_all(const train::LazyTensors& lazy) {
  NamedTensors tensors;
  for (const auto& tensor : lazy.tensors) {
    tensors.emplace_back(tensor.name, tensor.read());
    require(tensors.back().second.sizes() == torch::IntArrayRef(tensor.shape),
            "a tensor does not have the declared shape");
  }
  return tensors;
}

void write_known_shards(const std::filesystem::path& folder) {
  const auto numbers = [](std::int64_t count) { return torch::arange(count, torch::kFloat32); };
  train::write_safetensors(folder / "model-00001-of-00002.safetensors", {{"a", numbers(3)}, {"b.weight", numbers(2)}});
  train::write_safetensors(folder / "model-00002-of-00002.safetensors", {{"c", numbers(4)}}, {{"format", "pt"}});
}

}  // namespace

void fuzz_safetensors(std::string_view input) {
  const auto file = input_file("a.safetensors", input);
  const auto found = accepted<FileError>([&] { return train::read_safetensors(file); });
  if (!found) return;
  const auto copy = own_folder() / "copy.safetensors";
  train::write_safetensors(copy, found->tensors, found->metadata);
  const auto again = train::read_safetensors(copy);
  check_same(found->tensors, again.tensors);
  require(found->metadata == again.metadata, "the copied metadata differ");
}

void fuzz_shard_index(std::string_view input) {
  static const bool written = (write_known_shards(own_folder()), true);
  require(written, "the shards were not written");
  const auto file = input_file("model.safetensors.index.json", input);
  const auto found = accepted<FileError>([&] { return train::open_weight_shards(file); });
  if (!found) return;
  for (const auto& [name, tensor] : read_all(*found)) {
    require(name == "a" || name == "b.weight" || name == "c", "a tensor is not from the known shards");
  }
}

void fuzz_llmc(std::string_view input) {
  const auto file = input_file("gpt2.bin", input);
  const auto lazy = accepted<FileError>([&] { return train::open_llmc_weights(file); });
  if (!lazy) return;
  const auto before = read_all(*lazy);
  const auto config = train::llmc_model_config(file);
  const auto copy = own_folder() / "copy.bin";
  train::write_llmc_weights(copy, lazy->tensors, config, file);
  check_same(before, read_all(train::open_llmc_weights(copy)));
  require(train::llmc_model_config(copy) == config, "a checkpoint's copy describes another model");
}

void fuzz_model_config(std::string_view input) {
  input_file("config.json", input);
  const auto settings = accepted<FileError>([&] { return train::weight_settings(own_folder() / "model.safetensors"); });
  if (!settings) return;
  for (const auto& setting : *settings) {
    require(setting.key.starts_with("model.") || setting.key == "text.tokenizer", "a setting of another part");
    require(setting.value.size() < 400, "a setting's value is very long");
  }
}

}  // namespace lehi::fuzz
