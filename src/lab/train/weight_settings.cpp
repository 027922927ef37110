#include "train/weight_settings.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/files.h"
#include "text/tokenizer.h"
#include "train/json_file.h"
#include "train/weights.h"

namespace lehi::train {
namespace {

using nlohmann::json;

// A key of a run's configuration and its name in config.json.
struct KeyPair {
  const char* ours;
  const char* theirs;
};

constexpr std::array gpt2_keys = {KeyPair{"model.width", "n_embd"}, KeyPair{"model.layers", "n_layer"},
                                  KeyPair{"model.heads", "n_head"}, KeyPair{"model.context", "n_positions"}};
constexpr std::array llama_keys = {
    KeyPair{"model.width", "hidden_size"},         KeyPair{"model.layers", "num_hidden_layers"},
    KeyPair{"model.heads", "num_attention_heads"}, KeyPair{"model.key_heads", "num_key_value_heads"},
    KeyPair{"model.inner", "intermediate_size"},   KeyPair{"model.context", "max_position_embeddings"}};

std::string tokenizer_of(std::int64_t vocabulary) {
  for (const auto& name : text::tokenizer_names()) {
    if (text::vocabulary_size(text::tokenizer_named(name)) == vocabulary) return name;
  }
  return "";
}

}  // namespace

std::vector<Setting> weight_settings(const std::filesystem::path& weights) {
  const std::string text = model_config(weights);
  if (text.empty()) return {};
  const std::string where = fmt::format("the config.json of {}", weights.string());
  const json config = parse_json(text, where);
  if (!config.is_object()) throw FileError(fmt::format("{} is not a JSON object", where));
  const auto kind = config.find("model_type");
  if (kind == config.end() || (*kind != "gpt2" && *kind != "llama")) {
    throw FileError(fmt::format("{} has model_type {}, expected gpt2 or llama", where,
                                kind == config.end() ? "none" : shown_json(*kind)));
  }
  std::vector<Setting> settings = {{"model.kind", kind->get<std::string>(), where}};
  const auto add = [&](const char* ours, const json& object, const char* theirs) {
    const auto found = object.find(theirs);
    if (found == object.end()) return;
    if (!found->is_number())
      throw FileError(fmt::format("{}: {} is {}, not a number", where, theirs, shown_json(*found)));
    settings.push_back({ours, found->dump(), where});
  };
  if (*kind == "gpt2") {
    for (const auto& key : gpt2_keys) add(key.ours, config, key.theirs);
  } else {
    for (const auto& key : llama_keys) add(key.ours, config, key.theirs);
    add("model.rotary_base", config, "rope_theta");
    const auto scaling = config.find("rope_scaling");
    if (scaling != config.end() && scaling->is_object()) {
      add("model.rotary_factor", *scaling, "factor");
    } else {
      settings.push_back({"model.rotary_factor", "1.0", where});
    }
  }
  if (const auto size = config.find("vocab_size"); size != config.end() && size->is_number_integer()) {
    const std::string tokenizer = tokenizer_of(size->get<std::int64_t>());
    if (!tokenizer.empty()) settings.push_back({"text.tokenizer", tokenizer, where});
  }
  return settings;
}

std::string weight_config(const RunConfig& config, std::int64_t vocabulary) {
  const ModelConfig& model = config.model;
  const std::int64_t context = context_of(config);
  nlohmann::ordered_json document;
  if (model.kind == "gpt2") {
    document = {{"model_type", "gpt2"},      {"architectures", {"GPT2LMHeadModel"}},
                {"vocab_size", vocabulary},  {"n_positions", context},
                {"n_embd", model.width},     {"n_layer", model.layers},
                {"n_head", model.heads},     {"activation_function", "gelu_new"},
                {"layer_norm_epsilon", 1e-5}};
  } else if (model.kind == "llama") {
    document = {{"model_type", "llama"},
                {"architectures", {"LlamaForCausalLM"}},
                {"vocab_size", vocabulary},
                {"max_position_embeddings", context},
                {"hidden_size", model.width},
                {"num_hidden_layers", model.layers},
                {"num_attention_heads", model.heads},
                {"num_key_value_heads", model.key_heads},
                {"intermediate_size", model.inner},
                {"hidden_act", "silu"},
                {"rms_norm_eps", 1e-5},
                {"rope_theta", model.rotary_base}};
    if (model.rotary_factor != 1.0) {
      document["rope_scaling"] = {{"rope_type", "llama3"},
                                  {"factor", model.rotary_factor},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 8192}};
    }
  } else {
    return "";
  }
  document["tie_word_embeddings"] = true;
  document["torch_dtype"] = "float32";
  return document.dump(2) + "\n";
}

}  // namespace lehi::train
