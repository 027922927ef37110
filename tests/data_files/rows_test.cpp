// take_rows(), compared with torch's index_select.
#include "data/rows.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;

TEST(TakeRows, IsTorchsIndexSelect) {
  torch::manual_seed(1);
  torch::Tensor buffer;  // reused: take_rows() changes its shape and dtype
  for (const auto dtype : {torch::kFloat32, torch::kFloat64, torch::kInt64, torch::kUInt8}) {
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{100}, {100, 1}, {100, 9}, {100, 784}, {50, 3, 4}}) {
      const auto from = torch::randint(0, 200, sizes).to(dtype);
      for (const std::int64_t count : {1, 3, 128, 7}) {
        const auto rows = torch::randint(0, sizes[0], {count}, torch::kInt64);
        take_rows(from, rows, buffer);
        EXPECT_TRUE(same_bits(buffer, from.index_select(0, rows)));
      }
    }
  }
}

TEST(TakeRows, BytesAreScaledOnTheWay) {
  const auto from = torch::randint(0, 256, {50, 37}).to(torch::kUInt8);
  const auto rows = torch::randint(0, 50, {21}, torch::kInt64);
  const ByteScale bytes{0.0127F, -0.42F};
  torch::Tensor buffer;
  take_rows(from, rows, bytes, buffer);
  ASSERT_EQ(buffer.dtype(), torch::kFloat32);
  const auto exact = from.to(torch::kFloat64) * double{bytes.scale} + double{bytes.shift};
  // One rounding of at most 255 * scale, one of the sum.
  EXPECT_LE((buffer - exact.index_select(0, rows)).abs().max().item<double>(), 4e-7);
  EXPECT_TRUE(same_bits(buffer, scaled(from, bytes).index_select(0, rows)));
  EXPECT_EQ(message_of([&] {
              take_rows(torch::zeros({2, 2}), torch::arange(2), bytes, buffer);
            }),
            "take_rows: expected uint8 to scale, not Float");
}

TEST(TakeRows, LargePagesKeepTheirContents) {
  for (const std::int64_t size : {1L, 1000L, 10'000'000L}) {
    const auto tensor = torch::empty({size}, torch::kUInt8);
    use_large_pages(tensor);
    tensor.fill_(7);
    EXPECT_EQ(tensor.sum().item<std::int64_t>(), 7 * size);
  }
  use_large_pages(torch::empty({0}));
}

TEST(TakeRows, TheBufferIsReused) {
  const auto from = torch::randn({40, 5});
  torch::Tensor buffer;
  take_rows(from, torch::arange(30), buffer);
  const void* memory = buffer.data_ptr();
  take_rows(from, torch::arange(7), buffer);
  EXPECT_EQ(buffer.size(0), 7);
  EXPECT_EQ(buffer.data_ptr(), memory);
}

TEST(TakeRows, StridedIndicesAndNoRows) {
  const auto from = torch::randn({40, 5});
  const auto rows = torch::arange(20).slice(0, 0, 20, 3);
  torch::Tensor buffer;
  take_rows(from, rows, buffer);
  EXPECT_TRUE(same_bits(buffer, from.index_select(0, rows)));
  take_rows(from, torch::empty({0}, torch::kInt64), buffer);
  EXPECT_EQ(buffer.sizes(), at::IntArrayRef({0, 5}));
}

TEST(TakeRows, InvalidArgumentsThrow) {
  const auto from = torch::randn({4, 5});
  torch::Tensor buffer;
  EXPECT_EQ(message_of([&] {
              take_rows(from, torch::tensor({0, 4}, torch::kInt64), buffer);
            }),
            "take_rows: index 1 is 4; expected 0 to 3");
  EXPECT_EQ(message_of([&] { take_rows(from, torch::tensor({-1}, torch::kInt64), buffer); }),
            "take_rows: index 0 is -1; expected 0 to 3");
  const std::string expected =
      "take_rows: expected a contiguous tensor of rows and a one-dimensional tensor of int64 indices, both on the CPU";
  EXPECT_EQ(message_of([&] { take_rows(from.t(), torch::arange(2), buffer); }), expected);
  EXPECT_EQ(message_of([&] { take_rows(from, torch::ones({2}), buffer); }), expected);
}

}  // namespace
}  // namespace lehi::data
