// Crops and flips, compared with torch's padding, slicing and flipping of one image at a time.
#include "data/augment.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;

Split random_images(std::int64_t count, std::int64_t side_length) {
  Split split;
  split.image = ImageScale{side_length, {{0.016F, -2.0F}, {0.0161F, -1.98F}, {0.015F, -1.7F}}};
  split.inputs = torch::randint(0, 256, {count, 3 * side_length * side_length}).to(torch::kUInt8);
  split.targets = torch::zeros({count}, torch::kInt64);
  return split;
}

// Works on bytes, so the border is black before normalisation.
torch::Tensor torchs_crop(const torch::Tensor& image, const Crop& crop) {
  const std::int64_t size = image.size(1);
  const auto padded = torch::constant_pad_nd(image, {4, 4, 4, 4}, 0);
  const auto window = padded.slice(1, crop.down, crop.down + size).slice(2, crop.right, crop.right + size);
  return crop.flip ? window.flip({2}) : window;
}

TEST(TakeCrops, IsTorchsPadSliceAndFlipBeforeNormalisation) {
  torch::manual_seed(1);
  torch::Tensor batch;  // reused: take_crops() resizes it
  for (const std::int64_t side_length : {32, 7, 3}) {
    const Split split = random_images(40, side_length);
    for (const std::int64_t count : {200, 1, 128}) {
      const auto index = torch::randint(0, 40, {count}, torch::kInt64);
      Split expected = split;
      expected.inputs = torch::empty({count, split.inputs.size(1)}, torch::kUInt8);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = index[i].item<std::int64_t>();
        const auto image = split.inputs[row].view({3, side_length, side_length});
        expected.inputs[i] = torchs_crop(image, crop_of(5, 2, row)).flatten();
      }
      take_crops(split, index, 5, 2, batch);
      EXPECT_TRUE(same_bits(batch, expected.values()));
    }
  }
}

TEST(TakeCrops, TheBorderIsBlackAndNotZero) {
  Split split = random_images(100, 8);
  split.inputs.fill_(255);
  torch::Tensor batch;
  take_crops(split, torch::arange(100), 1, 0, batch);
  const auto red = batch.select(1, 0);
  EXPECT_NEAR(red.min().item<double>(), -2.0, 1e-6);
  EXPECT_NEAR(red.max().item<double>(), 255 * 0.016 - 2.0, 1e-6);
}

TEST(TakeCrops, DependOnSeedEpochAndRowAndNotOnTheBatch) {
  torch::manual_seed(2);
  const Split split = random_images(60, 32);
  torch::Tensor all;
  take_crops(split, torch::arange(60), 9, 4, all);
  torch::Tensor batch;
  const auto shuffled_rows = torch::randperm(60, torch::kInt64);
  for (std::int64_t first = 0; first < 60; first += 13) {
    const auto index = shuffled_rows.slice(0, first, first + 13);
    take_crops(split, index, 9, 4, batch);
    EXPECT_TRUE(same_bits(batch, all.index_select(0, index)));
  }
  take_crops(split, torch::arange(60), 10, 4, batch);
  EXPECT_FALSE(batch.equal(all));
  take_crops(split, torch::arange(60), 9, 5, batch);
  EXPECT_FALSE(batch.equal(all));
}

// Chi-square test with 162 equally likely outcomes and 161 degrees of freedom: above 250 with probability 1e-5. Varies
// the row, the epoch and the seed, and uses numbers of more than 32 bits.
TEST(CropOf, OffsetsAndFlipsAreUniformAndIndependent) {
  constexpr std::int64_t draws = 162 * 200;
  constexpr std::int64_t large = std::int64_t{1} << 40;
  const std::vector<std::function<Crop(std::int64_t)>> walks = {
      [](std::int64_t i) { return crop_of(1, 0, i); }, [](std::int64_t i) { return crop_of(1, i, 3); },
      [](std::int64_t i) { return crop_of(static_cast<std::uint64_t>(i), 0, 3); },
      [](std::int64_t i) { return crop_of(1, large, large + i); }};
  for (std::size_t walk = 0; walk < walks.size(); ++walk) {
    std::map<std::tuple<std::int64_t, std::int64_t, bool>, int> counts;
    for (std::int64_t i = 0; i < draws; ++i) {
      const Crop crop = walks[walk](i);
      ++counts[{crop.down, crop.right, crop.flip}];
    }
    EXPECT_EQ(counts.size(), 162U);
    double chi_square = 0;
    for (const auto& [outcome, count] : counts) {
      EXPECT_LE(std::get<0>(outcome), 8);
      EXPECT_LE(std::get<1>(outcome), 8);
      chi_square += (count - 200.0) * (count - 200.0) / 200.0;
    }
    EXPECT_LT(chi_square, 250) << "walk " << walk;
    EXPECT_GT(chi_square, 90) << "walk " << walk << ": too even to be random";
  }
}

TEST(TakeCrops, InvalidArgumentsThrow) {
  torch::Tensor batch;
  Split split = random_images(3, 8);
  EXPECT_EQ(message_of([&] { take_crops(split, torch::tensor({3}, torch::kInt64), 0, 0, batch); }),
            "take_rows: index 0 is 3; expected 0 to 2");
  split.image->side = 9;
  EXPECT_EQ(message_of([&] { take_crops(split, torch::arange(1), 0, 0, batch); }),
            "images are Byte [3, 192]; expected contiguous Byte [rows, 243] on the CPU");
  split.image.reset();
  EXPECT_EQ(message_of([&] { take_crops(split, torch::arange(1), 0, 0, batch); }),
            "take_crops: the inputs are not colour images");
}

}  // namespace
}  // namespace lehi::data
