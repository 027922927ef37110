// `lehi convert`: round trips through every format, its errors, and the files it leaves.
#include "cli/convert.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "cli/run.h"
#include "support/support.h"
#include "train/gpt2_file.h"
#include "train/scratch.h"
#include "train/weights.h"

namespace lehi::cli {
namespace {

using lehi::testing::gpt2_file;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Convert : public ::testing::Test {
 protected:
  Result convert(const std::string& in, const std::string& out, Arguments more = {}) const {
    more.insert(more.begin(), {"convert", at(in), at(out)});
    return run(more);
  }
  std::string at(const std::string& name) const { return (scratch_ / name).string(); }
  void expect_same_tensors(const std::string& a, const std::string& b) const {
    const auto left = train::open_weights(at(a)).tensors;
    auto right = train::open_weights(at(b)).tensors;
    ASSERT_EQ(left.size(), right.size());
    for (const auto& tensor : left) {
      const auto same = std::find_if(right.begin(), right.end(), [&](const auto& other) {
        return other.name == tensor.name && same_bits(other.read(), tensor.read());
      });
      EXPECT_NE(same, right.end()) << tensor.name;
    }
  }

  Scratch scratch_;
};

TEST_F(Convert, LlmcToHuggingFaceAndBackIsTheSameFile) {
  for (const int version : {3, 5}) {
    spill(at("a.bin"), gpt2_file({.heads = 2}, version));
    ASSERT_EQ(convert("a.bin", "hf/model.safetensors", {"--force"}).code, done);
    EXPECT_EQ(nlohmann::json::parse(slurp(at("hf/config.json"))),
              nlohmann::json::parse(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 4,
                                        "n_head": 2, "n_layer": 2, "n_positions": 3, "vocab_size": 5})"));
    ASSERT_EQ(convert("hf", "shards/", {"--shard-size", "300B", "--force"}).code, done);
    EXPECT_TRUE(std::filesystem::exists(at("shards/model.safetensors.index.json")));
    expect_same_tensors("hf", "shards");
    const auto back = convert("shards", "b.bin", {"--force"});
    ASSERT_EQ(back.code, done) << back.err;
    EXPECT_EQ(slurp(at("b.bin")), slurp(at("a.bin"))) << version;
  }
}

TEST_F(Convert, SafetensorsComeBackByteForByte) {
  const auto mixed = std::string(LEHI_TEST_DATA) + "/mixed.safetensors";
  ASSERT_EQ(run({"convert", mixed, at("a.safetensors")}).code, done);
  EXPECT_EQ(slurp(at("a.safetensors")), slurp(mixed));
  ASSERT_EQ(convert("a.safetensors", "parts/", {"--shard-size", "20B"}).code, done);
  ASSERT_EQ(convert("parts", "b.safetensors").code, done);
  EXPECT_EQ(slurp(at("b.safetensors")), slurp(mixed));
}

TEST_F(Convert, TypesChangeExactlyAndBuffersDoNot) {
  const auto bfloat = torch::tensor({1.0F, -3.140625F, 0x1p-126F}).to(torch::kBFloat16);
  train::write_safetensors(at("a.safetensors"),
                           {{"w", bfloat}, {"h.0.attn.masked_bias", torch::tensor(-1e9F)}, {"n", torch::tensor({7})}});
  ASSERT_EQ(convert("a.safetensors", "b.safetensors", {"--dtype", "float32"}).code, done);
  ASSERT_EQ(convert("b.safetensors", "c.safetensors", {"--dtype", "bfloat16"}).code, done);
  const auto plain = train::open_weights(at("b.safetensors")).tensors;  // integers, then floats by name
  ASSERT_EQ(plain.size(), 3U);
  EXPECT_TRUE(same_bits(plain[2].read(), torch::tensor({1.0F, -3.140625F, 0x1p-126F})));
  expect_same_tensors("a.safetensors", "c.safetensors");
}

TEST_F(Convert, TiedTensorsAreStoredOnce) {
  const auto embedding = torch::randn({4, 3});
  train::write_safetensors(at("a.safetensors"),
                           {{"model.embed_tokens.weight", embedding}, {"lm_head.weight", embedding}});
  const auto result = convert("a.safetensors", "b.safetensors", {"--json"});
  EXPECT_EQ(result.out, "{\"schema\":1,\"tensors\":1,\"parameters\":12,\"bytes\":48,\"files\":[\"" +
                            at("b.safetensors") + "\"]}\n");
  train::write_safetensors(at("a.safetensors"),
                           {{"model.embed_tokens.weight", embedding}, {"lm_head.weight", embedding + 1}});
  EXPECT_EQ(convert("a.safetensors", "c.safetensors", {"--json"}).json()["tensors"], 2);
}

TEST_F(Convert, ReplacesFilesOnlyWithForce) {
  spill(at("a.bin"), gpt2_file());
  spill(at("b.safetensors"), "mine");
  EXPECT_THAT(convert("a.bin", "b.safetensors").err,
              HasSubstr("b.safetensors exists; choose another file or add --force"));
  EXPECT_EQ(slurp(at("b.safetensors")), "mine");
  EXPECT_EQ(convert("a.bin", "b.safetensors", {"--force"}).code, done);

  ASSERT_EQ(convert("a.bin", "folder/").code, done);
  EXPECT_EQ(convert("a.bin", "folder").code, bad_input);
  EXPECT_EQ(convert("folder", "folder/", {"--force", "--dtype", "bfloat16"}).code, done);  // in its own place
  EXPECT_EQ(train::open_weights(at("folder")).tensors[0].type, torch::kBFloat16);
  spill(at("folder/tokenizer.json"), "mine");
  EXPECT_THAT(convert("a.bin", "folder", {"--force"}).err,
              HasSubstr("holds tokenizer.json, which --force would remove"));
  spill(at("folder/config.json"), "{}");
  EXPECT_THAT(convert("a.bin", "folder/x.safetensors", {"--force"}).err, HasSubstr("describes another model"));
  EXPECT_EQ(slurp(at("folder/config.json")), "{}");
}

TEST_F(Convert, RemovesTheFilesOfAKilledConversion) {
  train::write_safetensors(at("model.safetensors"), {{"v", torch::ones(3)}});
  for (const char* name : {"folder.tmp-1-0", "copy.safetensors.tmp-1-0", "else.tmp-1-0"}) spill(at(name), "half");
  EXPECT_EQ(convert("model.safetensors", "folder/").code, done);
  EXPECT_EQ(convert("model.safetensors", "copy.safetensors").code, done);
  EXPECT_THAT(scratch_.names(), ElementsAre("copy.safetensors", "else.tmp-1-0", "folder", "model.safetensors"));
}

TEST_F(Convert, FailuresLeaveNoFiles) {
  train::write_safetensors(at("a.safetensors"), {{"v", torch::ones(3)}, {"w", torch::full({3}, 1e5)}});
  for (const auto* out : {"b.safetensors", "b/", "b.bin"}) {
    const auto result = convert("a.safetensors", out, {"--dtype", "float16", "--shard-size", "6B"});
    EXPECT_EQ(result.code, bad_input) << out;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_THAT(scratch_.names(), ElementsAre("a.safetensors"));
  EXPECT_THAT(convert("a.safetensors", "b/", {"--dtype", "float16"}).err,
              AllOf(HasSubstr("a.safetensors: tensor \"w\" has 100000 at [0]"), HasSubstr("F16 can't hold")));
}

TEST_F(Convert, RejectsBadArguments) {
  EXPECT_EQ(convert("missing.safetensors", "b.safetensors").code, bad_input);
  EXPECT_EQ(convert("missing.safetensors", "b.gguf").code, usage_error);
  EXPECT_EQ(convert("a.bin", "b/", {"--dtype", "int8"}).code, usage_error);
  EXPECT_EQ(convert("a.bin", "b/", {"--shard-size", "0"}).code, usage_error);
  EXPECT_EQ(run({"convert", "a.bin"}).code, usage_error);
  EXPECT_EQ(parse_convert({"a", "b/", "--shard-size", "2GB"}).shard_size, 2'000'000'000U);
  EXPECT_EQ(parse_convert({"a", "b/"}).shard_size, 5'000'000'000U);
  EXPECT_THAT(run({"convert", "--help"}).out, AllOf(HasSubstr("lehi convert gpt2_124M.bin gpt2/"), HasSubstr("5GB")));
}

}  // namespace
}  // namespace lehi::cli
