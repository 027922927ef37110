#include "train/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "support/support.h"
#include "train/gpt2_file.h"
#include "train/llmc_weights.h"
#include "train/scratch.h"
#include "train/weight_names.h"
#include "train/weight_shards.h"

namespace lehi::train {
namespace {

using lehi::testing::gpt2_file;
using lehi::testing::gpt2_value;
using lehi::testing::gpt2_words;
using lehi::testing::message_of;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::SmallGpt2;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

torch::Tensor numbers(std::vector<std::int64_t> shape, double from = 0.0) {
  const auto size = c10::multiply_integers(shape);
  return (torch::arange(size, torch::kFloat32) + from).reshape(shape);
}

Parameters zeros_for(const NamedTensors& tensors) {
  Parameters parameters;
  for (const auto& [name, tensor] : tensors) {
    parameters.insert(name, torch::zeros(tensor.sizes(), torch::requires_grad()));
  }
  return parameters;
}

NamedTensors two_tensors() { return {{"wte.weight", numbers({3, 2})}, {"h.0.ln_1.bias", numbers({2}, 10.0)}}; }

const LazyTensor& lazy(const LazyTensors& weights, const std::string& name) {
  for (const auto& tensor : weights.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

// ---- loading ----

TEST(Weights, LoadsParametersExactlyFromEveryType) {
  const Scratch scratch;
  for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kFloat16, torch::kBFloat16}) {
    // 1.5, -3.140625 and 2^-14 are exact in each of them.
    const auto values = torch::tensor({1.5F, -3.140625F, 0x1p-14F, -0.0F});
    write_safetensors(scratch / "a", {{"w", values.to(type)}});
    const auto parameters = zeros_for({{"w", values}});
    load_weights(scratch / "a", parameters);
    EXPECT_TRUE(same_bits(parameters["w"].detach(), values)) << type;
    EXPECT_TRUE(parameters["w"].requires_grad() && parameters["w"].is_leaf());
  }
}

TEST(Weights, AcceptsThePrefixAndBuffersOfHuggingFacesFiles) {
  const Scratch scratch;
  const auto expected = two_tensors();
  write_safetensors(scratch / "a", {{"transformer.wte.weight", expected[0].second},
                                    {"transformer.h.0.ln_1.bias", expected[1].second},
                                    {"transformer.h.0.attn.bias", torch::ones({1, 1, 4, 4}).to(torch::kBool)},
                                    {"transformer.h.0.attn.masked_bias", torch::tensor(-1e4F)},
                                    {"lm_head.weight", expected[0].second.clone()}});
  const auto parameters = zeros_for(expected);
  load_weights(scratch / "a", parameters);
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(same_bits(parameters[name].detach(), tensor)) << name;

  const auto llama = numbers({3, 2});
  write_safetensors(scratch / "b", {{"model.embed_tokens.weight", llama},
                                    {"model.layers.0.self_attn.rotary_emb.inv_freq", torch::ones(2)},
                                    {"lm_head.weight", llama.clone()}});
  const auto embedding = zeros_for({{"model.embed_tokens.weight", llama}});
  load_weights(scratch / "b", embedding);
  EXPECT_TRUE(same_bits(embedding["model.embed_tokens.weight"].detach(), llama));
  // A model with a head of its own loads it.
  const auto both = zeros_for({{"model.embed_tokens.weight", llama}, {"lm_head.weight", llama}});
  load_weights(scratch / "b", both);
  EXPECT_TRUE(same_bits(both["lm_head.weight"].detach(), llama));
}

TEST(Weights, WhatDoesNotFitTheModelThrows) {
  const Scratch scratch;
  const auto parameters = zeros_for(two_tensors());
  const auto message = [&](NamedTensors tensors) {
    write_safetensors(scratch / "a", tensors);
    EXPECT_THROW(load_weights(scratch / "a", parameters), FileError);
    EXPECT_EQ(parameters["wte.weight"].abs().sum().item<float>(), 0.0F);
    return message_of([&] { load_weights(scratch / "a", parameters); });
  };
  auto tensors = two_tensors();
  tensors[1].first = "h.0.ln_1.bais";
  EXPECT_THAT(message(tensors), AllOf(HasSubstr((scratch / "a").string() + " has no tensor 'h.0.ln_1.bias'"),
                                      HasSubstr("the closest name there is \"h.0.ln_1.bais\"")));
  tensors[1].first = std::string(100'000, 'x');
  EXPECT_THAT(message(tensors), HasSubstr("no name there is similar"));
  tensors = two_tensors();
  tensors[0].second = numbers({2, 3});
  EXPECT_THAT(message(tensors), HasSubstr("'wte.weight' has shape [2, 3], the model needs [3, 2]"));
  tensors = two_tensors();
  tensors.emplace_back("h.1.ln_1.bias", numbers({2}));
  EXPECT_THAT(message(tensors), HasSubstr("has the tensor \"h.1.ln_1.bias\", which the model does not have"));
  tensors.back() = {"lm_head.weight", numbers({3, 2}, 1.0)};
  EXPECT_THAT(message(tensors), HasSubstr("differs from the embedding"));
  tensors.back() = {"transformer.wte.weight", numbers({3, 2})};
  EXPECT_THAT(message(tensors), HasSubstr("\"wte.weight\" twice"));
  tensors = two_tensors();
  tensors[0].second = tensors[0].second.to(torch::kInt64);
  EXPECT_THAT(message(tensors), HasSubstr("'wte.weight' has type I64, expected floating-point"));
  tensors[0].second = numbers({3, 2});
  tensors[0].second[2][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message(tensors), HasSubstr("'wte.weight' has nan at [2, 1]"));
  tensors[0].second = numbers({3, 2}).to(torch::kFloat64);
  tensors[0].second[1][0] = 1e300;
  EXPECT_THAT(message(tensors), HasSubstr("'wte.weight' has 1e+300 at [1, 0], expected finite numbers that F32"));
}

TEST(Weights, ReadsTensorsOnDemand) {
  const Scratch scratch;
  write_safetensors(scratch / "a", two_tensors());
  const auto weights = open_weights(scratch / "a");
  std::filesystem::resize_file(scratch / "a", std::filesystem::file_size(scratch / "a") - 1);
  EXPECT_TRUE(same_bits(lazy(weights, "h.0.ln_1.bias").read(), numbers({2}, 10.0)));
  EXPECT_THAT(message_of([&] { lazy(weights, "wte.weight").read(); }), HasSubstr("ended 1 bytes too early"));
}

TEST(Weights, AbsurdSizesThrowBeforeAllocating) {
  const Scratch scratch;
  spill(scratch / "a.safetensors", std::string("\0\0\0\0\0\0\0\x10{}", 10));  // a header of 2^60 bytes
  EXPECT_THAT(message_of([&] { open_weights(scratch / "a.safetensors"); }), HasSubstr("claims 1152921504606846976"));
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& model : {SmallGpt2{.positions = kMost, .vocabulary = kMost, .width = kMost, .rows = kMost},
                            SmallGpt2{.layers = kMost}, SmallGpt2{.layers = 10'000, .width = 1 << 30}}) {
    spill(scratch / "a.bin", gpt2_words(model, 3));
    EXPECT_THROW(open_weights(scratch / "a.bin"), FileError);
  }
}

// ---- several files ----

TEST(WeightShards, AreReadBitForBit) {
  const Scratch scratch;
  NamedTensors tensors;
  for (int i = 0; i < 7; ++i) tensors.emplace_back("t" + std::to_string(i), torch::randn({i, 5}));
  write_safetensors(scratch / "a", tensors, {{"format", "pt"}});
  const auto names = write_weight_shards(scratch.path(), open_weights(scratch / "a"), 200);
  // t0 to t3 have 0 + 20 + 40 + 60 bytes, t4 80: together exactly 200.
  EXPECT_THAT(names, ElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                 "model-00003-of-00003.safetensors", "model.safetensors.index.json"));
  EXPECT_THAT(slurp(scratch / names[3]), HasSubstr("\"total_size\": 420"));
  for (const auto& from : {scratch.path(), scratch / names[3]}) {
    const auto weights = open_weights(from);
    EXPECT_EQ(weights.metadata, (Metadata{{"format", "pt"}}));
    ASSERT_EQ(weights.tensors.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
      const auto found = lazy(weights, name).read();
      EXPECT_TRUE(tensor.numel() == 0 || same_bits(found, tensor)) << name;
    }
  }
}

TEST(WeightShards, AWrongIndexThrows) {
  const Scratch scratch;
  write_safetensors(scratch / "a.safetensors", {{"x", torch::ones(2)}, {"y", torch::ones(2)}});
  write_safetensors(scratch / "b.safetensors", {{"x", torch::ones(2)}});
  std::filesystem::create_directory(scratch / "sub");
  const auto message = [&](const std::string& weight_map) {
    const auto index = scratch / "sub/../m.safetensors.index.json";
    spill(index, R"({"weight_map": )" + weight_map + "}");
    EXPECT_THROW(open_weights(index), FileError) << weight_map;
    return message_of([&] { open_weights(index); });
  };
  EXPECT_THAT(message(R"({"x": "../a.safetensors"})"), HasSubstr("in the same directory"));
  EXPECT_THAT(message(R"({"x": "/etc/a.safetensors"})"), HasSubstr("in the same directory"));
  EXPECT_THAT(message(R"({"x": "state.json"})"), HasSubstr("in the same directory"));
  EXPECT_THAT(message(R"({"x": 1})"), HasSubstr("'x' is 1, expected a string"));
  EXPECT_THAT(message(R"({"x": "a.safetensors"})"), HasSubstr("has the tensor \"y\", but"));
  EXPECT_THAT(message(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "a.safetensors"})"),
              HasSubstr("has no tensor \"z\""));
  EXPECT_THAT(message(R"({"x": "b.safetensors", "y": "a.safetensors"})"), HasSubstr("has the tensor \"x\", but"));
  EXPECT_THAT(message(R"({"x": "a.safetensors", "x": "b.safetensors"})"), HasSubstr("repeats the key"));
  EXPECT_THAT(message(R"({"x": "c.safetensors"})"), HasSubstr("it does not exist"));
  EXPECT_THAT(message("[]"), HasSubstr("'weight_map'"));
  EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("deeper than 8 levels"));
}

TEST(Weights, AreFoundInADirectory) {
  const Scratch scratch;
  EXPECT_THAT(message_of([&] { open_weights(scratch.path()); }), HasSubstr("has no model.safetensors"));
  write_safetensors(scratch / "model.safetensors", two_tensors());
  EXPECT_EQ(open_weights(scratch.path()).tensors.size(), 2U);
  EXPECT_EQ(model_config(scratch.path()), "");
  spill(scratch / "config.json", "{}");
  EXPECT_EQ(model_config(scratch.path()), "{}");
  EXPECT_EQ(model_config(scratch / "model.safetensors"), "{}");
}

// ---- llm.c ----

TEST(LlmcWeights, HaveHuggingFacesNamesAndLayout) {
  const Scratch scratch;
  const SmallGpt2 model;
  for (const int version : {3, 5}) {
    spill(scratch / "a.bin", gpt2_file(model, version));
    const auto weights = open_weights(scratch / "a.bin");
    EXPECT_EQ(weights.tensors.size(), 2U + 12U * 2U + 2U);
    const auto value = [&](const std::string& name, std::initializer_list<at::indexing::TensorIndex> at) {
      return lazy(weights, name).read().index(at).item<float>();
    };
    EXPECT_EQ(lazy(weights, "wte.weight").type, version == 3 ? torch::kFloat32 : torch::kBFloat16);
    EXPECT_THAT(lazy(weights, "wte.weight").shape, ElementsAre(5, 4));  // of 128 rows
    EXPECT_THAT(lazy(weights, "h.1.attn.c_attn.weight").shape, ElementsAre(4, 12));
    EXPECT_THAT(lazy(weights, "h.1.mlp.c_fc.weight").shape, ElementsAre(4, 16));
    EXPECT_THAT(lazy(weights, "h.1.mlp.c_proj.weight").shape, ElementsAre(16, 4));
    // The file has [out, in]: element (out, in) is number out * inputs + in. The tensors are [in, out].
    EXPECT_EQ(value("wte.weight", {4, 3}), gpt2_value(0, 0, 4 * 4 + 3));
    EXPECT_EQ(value("wpe.weight", {2, 1}), gpt2_value(1, 0, 2 * 4 + 1));
    EXPECT_EQ(value("h.1.ln_1.weight", {2}), gpt2_value(2, 1, 2));
    EXPECT_EQ(value("h.0.ln_1.bias", {3}), gpt2_value(3, 0, 3));
    EXPECT_EQ(value("h.1.attn.c_attn.weight", {3, 10}), gpt2_value(4, 1, 10 * 4 + 3));
    EXPECT_EQ(value("h.0.attn.c_attn.bias", {11}), gpt2_value(5, 0, 11));
    EXPECT_EQ(value("h.1.attn.c_proj.weight", {1, 2}), gpt2_value(6, 1, 2 * 4 + 1));
    EXPECT_EQ(value("h.1.attn.c_proj.bias", {1}), gpt2_value(7, 1, 1));
    EXPECT_EQ(value("h.0.ln_2.weight", {0}), gpt2_value(8, 0, 0));
    EXPECT_EQ(value("h.1.ln_2.bias", {1}), gpt2_value(9, 1, 1));
    EXPECT_EQ(value("h.1.mlp.c_fc.weight", {2, 13}), gpt2_value(10, 1, 13 * 4 + 2));
    EXPECT_EQ(value("h.0.mlp.c_fc.bias", {15}), gpt2_value(11, 0, 15));
    EXPECT_EQ(value("h.1.mlp.c_proj.weight", {9, 2}), gpt2_value(12, 1, 2 * 16 + 9));
    EXPECT_EQ(value("h.1.mlp.c_proj.bias", {3}), gpt2_value(13, 1, 3));
    EXPECT_EQ(value("ln_f.weight", {2}), gpt2_value(14, 0, 2));
    EXPECT_EQ(value("ln_f.bias", {3}), gpt2_value(15, 0, 3));
    write_llmc_weights(scratch / "b.bin", weights.tensors, model_config(scratch / "a.bin"), "a.bin");
    EXPECT_EQ(slurp(scratch / "b.bin"), slurp(scratch / "a.bin"));
  }
}

TEST(LlmcWeights, EveryTruncationThrowsAndNoChangedByteCrashes) {
  const Scratch scratch;
  const auto whole = gpt2_file({.positions = 1, .vocabulary = 1, .layers = 1, .heads = 1, .width = 1, .rows = 1});
  spill(scratch / "a.bin", whole);
  lehi::testing::expect_every_truncation_throws(scratch / "a.bin", [&] { open_weights(scratch / "a.bin"); });
  lehi::testing::expect_no_changed_byte_crashes(scratch / "a.bin", [&] {
    for (const auto& tensor : open_weights(scratch / "a.bin").tensors) tensor.read();
  });
  spill(scratch / "a.bin", "PK\x03\x04" + std::string(2000, 'x'));
  EXPECT_THAT(message_of([&] { open_weights(scratch / "a.bin"); }),
              AllOf(HasSubstr("not with 20240326"), HasSubstr("as .safetensors first")));
  spill(scratch / "a.bin", gpt2_file({}, 1));
  EXPECT_THAT(message_of([&] { open_weights(scratch / "a.bin"); }), HasSubstr("its version is 1, expected 3"));
}

TEST(LlmcWeights, WhatTheFormatCannotStoreThrows) {
  const Scratch scratch;
  spill(scratch / "a.bin", gpt2_file());
  const auto good = open_weights(scratch / "a.bin").tensors;
  const auto message = [&](const std::vector<LazyTensor>& tensors, const std::string& config = R"({"n_head": 2})") {
    return message_of([&] { write_llmc_weights(scratch / "b.bin", tensors, config, "IN"); });
  };
  EXPECT_THAT(message(good, ""), HasSubstr("IN has width 4, and the number of heads is unknown"));
  EXPECT_THAT(message(good, R"({"n_head": 3})"), HasSubstr("'n_head' is 3, expected a divisor of the width 4"));
  EXPECT_THAT(message(good, "{}"), HasSubstr("'n_head' is missing"));
  EXPECT_THAT(message({good.begin() + 1, good.end()}), HasSubstr("IN has no tensor 'wte.weight'; only GPT-2's"));
  EXPECT_THAT(message(in_type(good, torch::kFloat16, "IN")), HasSubstr("'wte.weight' has type F16"));
  auto other = good;
  other[1].type = torch::kBFloat16;
  EXPECT_THAT(message(other), HasSubstr("'wpe.weight' has type BF16"));
  other = good;
  other.push_back(good[0]);
  other.back().name = "extra";
  EXPECT_THAT(message(other), HasSubstr("has the tensor \"extra\""));
  other = good;
  other[2].shape = {5};
  EXPECT_THAT(message(other), HasSubstr("'h.0.ln_1.weight' has shape [5], GPT-2 of this width has [4]"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "b.bin"));
}

TEST(WeightNames, AFiniteNumberThatATypeCannotHoldThrows) {
  const Scratch scratch;
  const float infinity = std::numeric_limits<float>::infinity();
  write_safetensors(scratch / "a", {{"w", torch::tensor({infinity, 1.0F, 70000.0F})}});
  const auto tensors = in_type(open_weights(scratch / "a").tensors, torch::kFloat16, "IN");
  EXPECT_THAT(message_of([&] { tensors[0].read(); }), HasSubstr("IN: tensor \"w\" has 70000 at [2], which F16"));
  // An infinity in the file is converted.
  EXPECT_TRUE(same_bits(in_type(open_weights(scratch / "a").tensors, torch::kBFloat16, "IN")[0].read(),
                        torch::tensor({infinity, 1.0F, 70000.0F}).to(torch::kBFloat16)));
}

}  // namespace
}  // namespace lehi::train
