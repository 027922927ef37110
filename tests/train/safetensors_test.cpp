#include "train/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <limits>

#include "support/support.h"
#include "train/crc32c.h"
#include "train/scratch.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The tensors of scripts/reference/safetensors_file.py, in another order than the file's.
NamedTensors mixed_tensors() {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kInt = std::numeric_limits<std::int32_t>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  return {{"mask", torch::tensor({true, false, true})},
          {"weight", torch::tensor({0.0F, 1.5F, -2.25F, 3.0F, 1e-3F, infinity}).reshape({2, 3})},
          {"layer.größe", torch::tensor({-0.0F})},
          {"double", torch::tensor(0.1, torch::kFloat64)},
          {"half", torch::tensor({1.0, -0.5, 65504.0, 5.960464477539063e-08}).to(torch::kFloat16)},
          {"brain", torch::tensor({1.0, -3.140625, 3.3895313892515355e38}).to(torch::kBFloat16)},
          {"long", torch::tensor({-kMost - 1, kMost}, torch::kInt64)},
          {"int", torch::tensor({1, -1, kInt, -kInt - 1}, torch::kInt32).reshape({2, 2})},
          {"bytes", torch::tensor({0, 1, 2, 254, 255}, torch::kUInt8)},
          {"empty", torch::empty({0, 4})}};
}

const Metadata kMixedMetadata = {{"format", "pt"}, {"note", "written by python's struct and json"}};

const torch::Tensor& named(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

/// Writes a file with this header and `data_bytes` zeros as data.
void spill_header(const std::filesystem::path& path, const std::string& header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  spill(path, bytes + header + std::string(data_bytes, '\0'));
}

TEST(Safetensors, WritesTheBytesOfTheReferenceImplementation) {
  const Scratch scratch;
  // One float32 tensor [1, 2, 3], from the format's documentation: a header of 64 bytes, which needs no padding.
  write_safetensors(scratch / "a", {{"attn.0", torch::arange(6, torch::kFloat32).reshape({1, 2, 3})}});
  const std::string header = R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})";
  const std::string data("\0\0\0\0\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@", 24);
  EXPECT_EQ(slurp(scratch / "a"), std::string("@\0\0\0\0\0\0\0", 8) + header + data);
  write_safetensors(scratch / "b", {});
  EXPECT_EQ(slurp(scratch / "b"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(Safetensors, WritesTheBytesOfAnIndependentScript) {
  const Scratch scratch;
  write_safetensors(scratch / "a", mixed_tensors(), kMixedMetadata);
  EXPECT_EQ(slurp(scratch / "a"), slurp(std::string(LEHI_TEST_DATA) + "/mixed.safetensors"));
}

TEST(Safetensors, ReadsTheFileOfAnIndependentScript) {
  const auto file = read_safetensors(std::string(LEHI_TEST_DATA) + "/mixed.safetensors");
  EXPECT_EQ(file.metadata, kMixedMetadata);
  ASSERT_EQ(file.tensors.size(), mixed_tensors().size());
  for (const auto& [name, tensor] : mixed_tensors()) {
    const auto& found = named(file.tensors, name);
    EXPECT_EQ(found.sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(tensor.numel() == 0 || same_bits(found, tensor)) << name;
  }
}

TEST(Safetensors, KeepsEveryBitOfStridedAndDifferentiableTensors) {
  const Scratch scratch;
  const auto base = torch::arange(12, torch::kFloat64).reshape({3, 4});
  auto parameter = torch::randn({3}, torch::requires_grad());
  const auto nan = torch::tensor({std::numeric_limits<double>::quiet_NaN(), -0.0});
  write_safetensors(scratch / "a", {{"t", base.t()}, {"slice", base.slice(1, 1, 3)}, {"w", parameter}, {"nan", nan}});
  const auto tensors = read_safetensors(scratch / "a").tensors;
  EXPECT_TRUE(same_bits(named(tensors, "t"), base.t()));
  EXPECT_TRUE(same_bits(named(tensors, "slice"), base.slice(1, 1, 3)));
  EXPECT_TRUE(same_bits(named(tensors, "w"), parameter));
  EXPECT_TRUE(same_bits(named(tensors, "nan"), nan));
}

TEST(Safetensors, ReturnsTheNumberAndChecksumOfTheBytes) {
  const Scratch scratch;
  OutputFile file(scratch / "a", OutputFile::Mode::create);
  const auto written = write_safetensors(file, mixed_tensors());
  file.close();
  const auto bytes = slurp(scratch / "a");
  EXPECT_EQ(written.bytes, bytes.size());
  EXPECT_EQ(written.crc32c, crc32c(bytes));
}

TEST(Safetensors, WhatTheFormatCannotStoreThrows) {
  const Scratch scratch;
  const auto one = torch::ones(1);
  const auto message = [&](const NamedTensors& tensors) {
    return message_of([&] { write_safetensors(scratch / "a", tensors); });
  };
  EXPECT_THAT(message({{"w", one}, {"w", one}}), HasSubstr("two tensors are named 'w'"));
  EXPECT_THAT(message({{"__metadata__", one}}), HasSubstr("reserved"));
  EXPECT_THAT(message({{"c", one.to(torch::kComplexFloat)}}), AllOf(HasSubstr("'c'"), HasSubstr("ComplexFloat")));
  EXPECT_THAT(message({{"s", one.to_sparse()}}), HasSubstr("sparse"));
  EXPECT_THAT(message({{"u", torch::Tensor()}}), HasSubstr("undefined"));
  EXPECT_THAT(message({{"\xff", one}}), HasSubstr("UTF-8"));
  EXPECT_TRUE(scratch.names().empty());
}

TEST(Safetensors, EveryTruncationThrows) {
  const Scratch scratch;
  write_safetensors(scratch / "a", mixed_tensors(), kMixedMetadata);
  lehi::testing::expect_every_truncation_throws(scratch / "a", [&] { read_safetensors(scratch / "a"); });
}

TEST(Safetensors, NoChangedByteCrashes) {
  const Scratch scratch;
  write_safetensors(scratch / "a", mixed_tensors(), kMixedMetadata);
  const auto size = slurp(scratch / "a").size();
  lehi::testing::expect_no_changed_byte_crashes(scratch / "a", [&] {
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : read_safetensors(scratch / "a").tensors) bytes += tensor.nbytes();
    EXPECT_LT(bytes, size);
  });
}

struct Hostile {
  const char* header;
  std::size_t data_bytes;
  const char* message;
};

TEST(Safetensors, HostileHeadersThrow) {
  const Scratch scratch;
  for (
      const auto& [header, data_bytes, message] : std::initializer_list<Hostile>{
          {"[]", 0, "not a JSON object"},
          {"{", 0, "not valid JSON"},
          {R"({"a":1})", 0, "is not a JSON object"},
          {R"({"a":{}})", 0, "'dtype' is missing"},
          {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}})", 4, "repeats the key \"a\""},
          {R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8, "\"C64\" is not supported"},
          {R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,4]}})", 4, "'shape' is not a list"},
          {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "'shape' is -1"},
          {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "'shape' is 1.0"},
          {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "'data_offsets' must be [begin, end]"},
          {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "'data_offsets' must be [begin, end]"},
          {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "need 8 bytes, 'data_offsets' give 4"},
          {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "need too many bytes"},
          {R"({"a":{"dtype":"U8","shape":[4611686018427387904,4,0],"data_offsets":[0,0]}})", 0, "need too many bytes"},
          {R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0,
           "an integer of at least 0"},
          {R"({"a":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})", 1,
           "its tensors take 4611686018427387904 bytes, the file has 1"},
          {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
           6, "\"b\" begins at byte 2, expected 4"},
          {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})",
           6, "\"b\" begins at byte 5, expected 4"},
          {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, "its tensors take 4 bytes, the file has 5"},
          {R"({"a":{"dtype":"U8","shape":[[4]],"data_offsets":[0,4]}})", 4, "deeper than 3 levels"},
          {R"({"__metadata__":{"a":1}})", 0, "\"a\" must be a string"},
          {R"({"__metadata__":[]})", 0, "must be a JSON object with string values"}}) {
    spill_header(scratch / "a", header, data_bytes);
    const auto text = message_of([&] { read_safetensors(scratch / "a"); });
    EXPECT_THAT(text, AllOf(HasSubstr(message), HasSubstr((scratch / "a").string()))) << header;
    EXPECT_THROW(read_safetensors(scratch / "a"), FileError) << header;
  }
}

TEST(Safetensors, AbsurdSizesThrowBeforeAllocating) {
  const Scratch scratch;
  const std::string end = "\x7f";
  spill(scratch / "a", std::string(7, '\xff') + end + "{}");
  EXPECT_THAT(message_of([&] { read_safetensors(scratch / "a"); }),
              HasSubstr("its header claims 9223372036854775807 bytes"));
  spill(scratch / "a", std::string("\xff\xff\xff\x05\0\0\0\0{}", 10));  // almost 100 million bytes
  EXPECT_THAT(message_of([&] { read_safetensors(scratch / "a"); }), HasSubstr("the file has 2"));
  std::string ranks = "0";
  for (int i = 0; i < 40; ++i) ranks += ",0";
  spill_header(scratch / "a", R"({"a":{"dtype":"U8","shape":[)" + ranks + R"(],"data_offsets":[0,0]}})", 0);
  EXPECT_THAT(message_of([&] { read_safetensors(scratch / "a"); }), HasSubstr("a list of more than 32 values"));
}

TEST(Safetensors, BytesThatAreNotBoolThrow) {
  const Scratch scratch;
  write_safetensors(scratch / "a", {{"m", torch::tensor({true})}});
  auto bytes = slurp(scratch / "a");
  bytes.back() = 2;
  spill(scratch / "a", bytes);
  EXPECT_THAT(message_of([&] { read_safetensors(scratch / "a"); }), HasSubstr("neither 0 nor 1"));
}

}  // namespace
}  // namespace lehi::train
