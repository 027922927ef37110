// Random orders of rows that depend on a seed only.
#pragma once

#include <cstdint>
#include <vector>

namespace lehi::data {

/// The purpose of a permutation; each purpose draws its own numbers from the same seed.
enum class Draw : std::uint32_t { test_split = 0, validation_split = 1, epoch_order = 2 };

/// 0 .. count - 1 in random order: the shuffle of torch.randperm (position i is swapped with i + draw % (count - i)),
/// with numbers from std::mt19937, which is torch's generator too. For the test split the generator is seeded with the
/// seed itself, so the order is torch.randperm(count) after torch.manual_seed(seed). For other purposes, and for seeds
/// of more than 32 bits, it is seeded by std::seed_seq{low word of the seed, high word, purpose}. The C++ standard
/// defines all of these numbers, so the same seed gives the same order with any compiler, standard library or LibTorch.
std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, Draw purpose);

/// The order of the training rows in epoch 0, 1, ...: as above, with the epoch's two words after the purpose.
std::vector<std::int64_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace lehi::data
